//! Headers of POSIX tar: one block of 512 bytes for each entry, and a pax header before it where a name is longer than
//! 100 bytes or an entry larger than 8 GiB.
//!
//! By hand, because what is needed is little: the crates for it read and write blockingly, entry by entry, and bring
//! owners, links and times with them, which a bundle has not.

/// Bytes of a header, and what contents are filled up to.
pub(crate) const BLOCK: usize = 512;
/// Largest size that eleven octal digits hold.
const MAX_OCTAL: u64 = 0o77_777_777_777;
/// Longest name without a pax header.
const MAX_NAME: usize = 100;
/// Most bytes of a pax header that are read.
pub(crate) const MAX_PAX: u64 = 64 << 10;

/// The fields of one header block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) kind: u8,
}

/// The fields of a pax header, which describe the entry after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pax {
    pub(crate) path: Option<String>,
    pub(crate) size: Option<u64>,
}

/// Returns how many bytes fill up the last block of contents.
pub(crate) fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}

/// Returns the header of a regular entry, with all that comes before its contents.
pub(crate) fn header(name: &str, size: u64) -> Vec<u8> {
    let mut pax = Vec::new();
    if name.len() > MAX_NAME {
        record(&mut pax, "path", name);
    }
    if size > MAX_OCTAL {
        record(&mut pax, "size", &size.to_string());
    }
    let mut header = Vec::new();
    if !pax.is_empty() {
        header.extend(block("icefield-pax", pax.len() as u64, b'x'));
        let fill = padding(pax.len() as u64);
        header.extend(pax);
        header.resize(header.len() + fill, 0);
    }
    header.extend(block(name, size, b'0'));
    header
}

fn record(pax: &mut Vec<u8>, key: &str, value: &str) {
    // The length counts itself.
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    pax.extend(format!("{length} {key}={value}\n").bytes());
}

fn block(name: &str, size: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    let name = name.as_bytes();
    put(0, &name[..name.len().min(MAX_NAME)]);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    let shown = if size > MAX_OCTAL { 0 } else { size };
    put(124, format!("{shown:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum = format!("{:06o}\0 ", checksum(&block));
    block[148..156].copy_from_slice(sum.as_bytes());
    block
}

/// The sum of all bytes, those of the checksum itself taken for spaces.
fn checksum(block: &[u8; BLOCK]) -> u64 {
    let bytes = block.iter().enumerate();
    bytes
        .map(|(at, byte)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        })
        .sum()
}

/// Reads a header block; none for one of zeros, which ends the file.
///
/// # Errors
/// The problem.
pub(crate) fn parse(block: &[u8; BLOCK]) -> Result<Option<Block>, &'static str> {
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    if block[148..156] != *format!("{:06o}\0 ", checksum(block)).as_bytes() {
        return Err("a header has a wrong checksum");
    }
    if &block[257..262] != b"ustar" {
        return Err("a header is not that of a POSIX tar file");
    }
    let name = block[..MAX_NAME].split(|byte| *byte == 0).next();
    let name = str::from_utf8(name.unwrap_or_default()).map_err(|_| "a name is not UTF-8")?;
    if block[345] != 0 {
        return Err("a name is split in a way that bundles do not have");
    }
    let size = octal(&block[124..136]).ok_or("a size is no number")?;
    Ok(Some(Block {
        name: name.to_owned(),
        size,
        kind: block[156],
    }))
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

/// Reads the contents of a pax header.
///
/// # Errors
/// The rule that they break.
pub(crate) fn parse_pax(mut bytes: &[u8]) -> Result<Pax, &'static str> {
    const BROKEN: &str = "a pax header is broken";
    let mut pax = Pax::default();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ').ok_or(BROKEN)?;
        let length = str::from_utf8(&bytes[..space])
            .ok()
            .and_then(|it| it.parse().ok());
        let length: usize = length.ok_or(BROKEN)?;
        let record = bytes.get(space + 1..length).ok_or(BROKEN)?;
        let record = record.strip_suffix(b"\n").ok_or(BROKEN)?;
        let (key, value) = str::from_utf8(record)
            .ok()
            .and_then(|record| record.split_once('='))
            .ok_or(BROKEN)?;
        match key {
            "path" => pax.path = Some(value.to_owned()),
            "size" => pax.size = Some(value.parse().map_err(|_| BROKEN)?),
            _ => return Err("a pax header says what bundles do not"),
        }
        bytes = &bytes[length..];
    }
    Ok(pax)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> &[u8; BLOCK] {
        bytes.first_chunk().expect("a block")
    }

    #[test]
    fn headers_are_read_as_they_were_written() {
        let name = "chunks/ZZZZZZZZZZZZZZZZZZZG";
        for size in [0, 1, 511, 512, MAX_OCTAL] {
            let bytes = header(name, size);
            assert_eq!(bytes.len(), BLOCK);
            let block = parse(first(&bytes)).expect("good").expect("an entry");
            assert_eq!(
                (block.name.as_str(), block.size, block.kind),
                (name, size, b'0')
            );
        }
        assert_eq!(parse(&[0; BLOCK]), Ok(None));
    }

    #[test]
    fn long_names_and_large_sizes_take_a_pax_header() {
        for length in [90, 101, 200, 976, 977, 978] {
            let name = "n".repeat(length);
            let bytes = header(&name, MAX_OCTAL + 1);
            let pax = parse(first(&bytes)).expect("good").expect("an entry");
            assert_eq!(pax.kind, b'x');
            let pax = parse_pax(&bytes[BLOCK..BLOCK + pax.size as usize]).expect("good");
            assert_eq!(pax.size, Some(MAX_OCTAL + 1));
            assert_eq!(
                pax.path.as_deref(),
                (length > MAX_NAME).then_some(name.as_str())
            );
            let entry = parse(first(&bytes[bytes.len() - BLOCK..])).expect("good");
            assert_eq!(entry.expect("an entry").kind, b'0');
        }
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let good = header("chunks/ZZZZZZZZZZZZZZZZZZZG", 77);
        for at in 0..BLOCK * 8 {
            let mut bad = good.clone();
            bad[at / 8] ^= 1 << (at % 8);
            assert!(parse(first(&bad)).is_err(), "bit {at}");
        }
    }

    #[test]
    fn broken_pax_headers_are_errors() {
        for bad in [
            "5",
            "x path=a\n",
            "9 path=a",
            "99 path=a\n",
            "0 path=a\n",
            "3 path=a\n",
            "10 size=-1\n",
            "9 link=a\n",
            " ",
            "18446744073709551615 a=b\n",
        ] {
            assert!(parse_pax(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(parse_pax(b"9 path=a\n").is_ok());
    }
}
