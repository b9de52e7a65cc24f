//! PNG files, decoded by the letter of their specification and by no code of the program.

use std::io::Read as _;

/// The pixels of a picture.
pub(super) struct Decoded {
    pub(super) width: usize,
    pub(super) height: usize,
    pixels: Vec<u8>,
}

impl Decoded {
    /// Decodes a file with 8 bits each of red, green and blue.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let (signature, mut rest) = bytes.split_at(8);
        assert_eq!(signature, [0x89, b'P', b'N', b'G', 13, 10, 26, 10]);
        let (mut header, mut data, mut is_ended) = (Vec::new(), Vec::new(), false);
        while !rest.is_empty() {
            let length = number(&rest[..4]);
            let (kind, body) = (&rest[4..8], &rest[8..8 + length]);
            let sum = number(&rest[8 + length..12 + length]);
            assert_eq!(checksum(&rest[4..8 + length]) as usize, sum, "{kind:?}");
            match kind {
                b"IHDR" => header = body.to_vec(),
                b"IDAT" => data.extend_from_slice(body),
                b"IEND" => is_ended = true,
                _ => assert!(kind[0].is_ascii_lowercase(), "{kind:?}"),
            }
            rest = &rest[12 + length..];
        }
        assert!(is_ended);
        let (width, height) = (number(&header[..4]), number(&header[4..8]));
        assert_eq!(header[8..], [8, 2, 0, 0, 0]);
        let mut lines = Vec::new();
        let mut inflater = flate2::read::ZlibDecoder::new(&data[..]);
        inflater.read_to_end(&mut lines).unwrap();
        let stride = width * 3;
        assert_eq!(lines.len(), height * (stride + 1));
        let mut pixels: Vec<u8> = Vec::new();
        for line in lines.chunks(stride + 1) {
            let above = pixels.len().checked_sub(stride);
            for at in 0..stride {
                let left = if at < 3 { 0 } else { pixels[pixels.len() - 3] };
                let up = above.map_or(0, |above| pixels[above + at]);
                let corner = match above {
                    Some(above) if at >= 3 => pixels[above + at - 3],
                    _ => 0,
                };
                let guess = match line[0] {
                    0 => 0,
                    1 => left,
                    2 => up,
                    3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                    4 => paeth(left, up, corner),
                    other => panic!("filter {other}"),
                };
                pixels.push(line[at + 1].wrapping_add(guess));
            }
        }
        Self {
            width,
            height,
            pixels,
        }
    }

    pub(super) fn pixel(&self, column: usize, row: usize) -> [u8; 3] {
        let at = (row * self.width + column) * 3;
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }
}

fn number(bytes: &[u8]) -> usize {
    u32::from_be_bytes(bytes.try_into().unwrap()) as usize
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let guess = i32::from(left) + i32::from(up) - i32::from(corner);
    let distance = |it: u8| (guess - i32::from(it)).abs();
    [left, up, corner]
        .into_iter()
        .min_by_key(|it| distance(*it))
        .unwrap()
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}
