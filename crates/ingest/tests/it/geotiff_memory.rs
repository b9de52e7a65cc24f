//! Small TIFF files that say that they are huge: the memory for them is bounded.
//!
//! The bound is one of a whole process, so these tests start themselves in processes of their own.

use std::process::Command;

use crate::geotiff::{exhaust, image, read};

/// Which file a process reads.
const CASE: &str = "ICEFIELD_TEST_TIFF";
/// Address space of such a process, in KiB, on top of what it has at its start.
const ROOM: u64 = 1 << 20;

/// Values of fields by their tags and types, in the place of those of a small image.
type Fields = &'static [(u16, u16, &'static [u32])];

const HUGE: u32 = u32::MAX - 1;

/// The data of each is a few bytes.
const CASES: [(&str, Fields); 9] = [
    // A strip and a tile of all of it, as it is and compressed.
    ("plain", &[(256, 4, &[HUGE]), (257, 4, &[HUGE])]),
    (
        "lzw",
        &[(256, 4, &[HUGE]), (257, 4, &[HUGE]), (259, 3, &[5])],
    ),
    (
        "tile",
        &[
            (256, 4, &[HUGE]),
            (257, 4, &[HUGE]),
            (259, 3, &[5]),
            (322, 4, &[HUGE]),
            (323, 4, &[HUGE]),
            (324, 4, &[8]),
            (325, 4, &[8]),
        ],
    ),
    // As many tiles as there are pixels.
    (
        "many tiles",
        &[
            (256, 4, &[HUGE]),
            (257, 4, &[HUGE]),
            (322, 4, &[1]),
            (323, 4, &[1]),
            (324, 4, &[8]),
            (325, 4, &[8]),
        ],
    ),
    ("rows", &[(257, 4, &[HUGE]), (278, 4, &[1])]),
    ("columns", &[(256, 4, &[HUGE]), (259, 3, &[32_773])]),
    // Bands.
    ("bands", &[(277, 3, &[65_535]), (284, 3, &[2])]),
    (
        "bands in pixels",
        &[
            (256, 4, &[100_000]),
            (257, 4, &[100_000]),
            (277, 3, &[65_535]),
            (259, 3, &[8]),
        ],
    ),
    // Coordinates along both sides: a scale and a point of doubles, of which each is two words.
    (
        "coordinates",
        &[(256, 4, &[1 << 24]), (257, 4, &[1 << 24]), (259, 3, &[5])],
    ),
];

#[test]
fn a_small_file_does_not_take_the_memory_that_it_says() {
    const NAME: &str = "geotiff_memory::a_small_file_does_not_take_the_memory_that_it_says";
    if let Some(case) = std::env::var_os(CASE) {
        let case = case.into_string().unwrap();
        let (_, fields) = CASES.iter().find(|(name, _)| *name == case).unwrap();
        let mut bytes = image(fields, &[7; 16]);
        if case == "coordinates" {
            bytes = with_scale(bytes);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            match read(bytes.clone()).await {
                Ok(archive) => println!("read: {} nodes", archive.nodes.len()),
                Err(error) => println!("refused: {error}"),
            }
            exhaust(bytes).await;
        });
        return;
    }
    let at_start = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = at_start.lines().find(|line| line.starts_with("VmSize:"));
    let size: u64 = size
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    for (case, _) in CASES {
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", size + ROOM);
        let output = Command::new("sh")
            .args(["-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture", "--test-threads", "1"])
            .env(CASE, case)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}: {said}{failed}");
        assert!(
            said.contains("read: ") || said.contains("refused: "),
            "{case}: {said}"
        );
    }
}

/// Gives an image the size of a pixel and the place of one, which make coordinates.
fn with_scale(mut file: Vec<u8>) -> Vec<u8> {
    // The first directory is copied to the end, with two fields more.
    let count = u16::from_le_bytes([file[8], file[9]]);
    let mut fields = file[10..10 + 12 * usize::from(count)].to_vec();
    for (tag, values) in [
        (33_550_u16, &[1.0, 1.0, 0.0][..]),
        (33_922, &[0.0, 0.0, 0.0, 5.0, 60.0, 0.0]),
    ] {
        let at = file.len() as u32;
        file.extend(values.iter().flat_map(|it: &f64| it.to_le_bytes()));
        fields.extend(tag.to_le_bytes());
        fields.extend(12_u16.to_le_bytes());
        fields.extend((values.len() as u32).to_le_bytes());
        fields.extend(at.to_le_bytes());
    }
    let at = file.len() as u32;
    file.extend((count + 2).to_le_bytes());
    file.extend(fields);
    file.extend([0; 4]);
    file[4..8].copy_from_slice(&at.to_le_bytes());
    file
}
