//! An import needs little memory, however large the tree.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::process::Stdio;
use std::time::Duration;

use crate::world::{World, array};

const TREE: u64 = 512 << 20;
const LIMIT_KIB: u64 = 150 << 10;

/// Makes an array of `TREE` bytes in chunks of `chunk` bytes. The files are sparse: what counts is how much is
/// copied, not what.
fn big_tree(world: &World, chunk: u64) {
    world.json("big/x/zarr.json", &array(&[TREE], &[chunk], &["t"]));
    fs::create_dir_all(world.path("big/x/c")).unwrap();
    for index in 0..TREE / chunk {
        let mut file = File::create(world.path(&format!("big/x/c/{index}"))).unwrap();
        file.write_all(&index.to_le_bytes()).unwrap();
        file.set_len(chunk).unwrap();
    }
}

/// Runs the program and returns the most memory that it had resident, in KiB.
fn peak(world: &World, args: &[&str]) -> u64 {
    let mut child = world.command(args).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // The high-water mark only grows, so that the last reading is all that counts.
        if let Ok(status) = fs::read_to_string(&status) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            if let Some(kib) = line.and_then(|line| line.trim().strip_suffix(" kB")) {
                peak = kib.trim().parse().unwrap();
            }
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{args:?}");
            return peak;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn half_a_gigabyte_goes_in_and_out_under_150_megabytes() {
    for chunk in [1 << 20, 8 << 20] {
        let world = World::new();
        big_tree(&world, chunk);
        world.ok(&["init", "r"]);
        let import = peak(&world, &["import", "big", "r", "--fsync", "none"]);
        let export = peak(&world, &["export", "r", "out"]);
        eprintln!("chunks of {chunk} bytes: import {import} KiB, export {export} KiB");
        assert!(import > 0 && import < LIMIT_KIB, "import: {import} KiB");
        assert!(export > 0 && export < LIMIT_KIB, "export: {export} KiB");
        let zip = peak(&world, &["export", "r", "out.zip"]);
        eprintln!("to a zip file: {zip} KiB");
        assert!(
            zip > 0 && zip < LIMIT_KIB,
            "export to a zip file: {zip} KiB"
        );
        let length = fs::metadata(world.path("out.zip")).unwrap().len();
        assert!(length > TREE, "{length} bytes");
        fs::remove_file(world.path("out.zip")).unwrap();
        let facts = world.facts(&["ls", "-l", "r"]);
        assert_eq!(facts["nodes"][0]["chunks"]["native"]["bytes"], TREE);
        let last = TREE / chunk - 1;
        let written = fs::read(world.path(&format!("out/x/c/{last}"))).unwrap();
        assert_eq!(written.len() as u64, chunk);
        assert_eq!(written[..8], last.to_le_bytes());
    }
}

/// From chunks that are long in one direction to chunks that are long in the other: a quarter of a gigabyte, of which half
/// would fit.
#[cfg(target_os = "linux")]
#[test]
fn arrays_are_rechunked_under_200_megabytes() {
    let (rows, columns, chunk) = (8192_u64, 32_768_u64, 1 << 20);
    let world = World::new();
    let document = array(&[rows, columns], &[chunk / columns, columns], &["t", "x"]);
    world.json("big/x/zarr.json", &document);
    for index in 0..rows * columns / chunk {
        let name = format!("big/x/c/{index}/0");
        world.file(&name, [(index % 250) as u8 + 1]);
        let file = File::options().write(true).open(world.path(&name)).unwrap();
        file.set_len(chunk).unwrap();
    }
    world.ok(&["init", "r"]);
    world.ok(&["import", "big", "r", "--fsync", "none"]);
    let rechunk = [
        "rechunk",
        "r",
        "x",
        "--chunks",
        "t=all,x=128",
        "--fsync",
        "none",
    ];
    let peak = peak(&world, &rechunk);
    eprintln!("rechunk: {peak} KiB");
    assert!(peak > 0 && peak < 200 << 10, "rechunk: {peak} KiB");
    let found = world
        .command(&["cat", "r", "x/c/0/0"])
        .output()
        .unwrap()
        .stdout;
    assert_eq!(found.len() as u64, chunk);
    let firsts = found.iter().step_by((128 * chunk / columns) as usize);
    let expected = (0..rows * columns / chunk).map(|index| (index % 250) as u8 + 1);
    assert!(firsts.copied().eq(expected));
}

/// The checksum behind a chunk: CRC-32C, little-endian.
fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    (!sum).to_le_bytes()
}

#[cfg(target_os = "linux")]
#[test]
fn half_a_gigabyte_goes_out_in_other_formats_under_150_megabytes() {
    let chunk = 4 << 20;
    let world = World::new();
    let mut document = array(&[TREE], &[chunk], &["t"]);
    // netCDF-C has no such checksum, so that each chunk is decoded and deflated for it.
    document["codecs"] = serde_json::json!([{ "name": "bytes" }, { "name": "crc32c" }]);
    world.json("big/x/zarr.json", &document);
    fs::create_dir_all(world.path("big/x/c")).unwrap();
    let sum = crc32c(&vec![0; usize::try_from(chunk).unwrap()]);
    for index in 0..TREE / chunk {
        let mut file = File::create(world.path(&format!("big/x/c/{index}"))).unwrap();
        file.seek(SeekFrom::Start(chunk)).unwrap();
        file.write_all(&sum).unwrap();
    }
    world.ok(&["init", "r"]);
    world.ok(&["import", "big", "r", "--fsync", "none"]);
    for (format, out) in [
        ("nczarr", "out"),
        ("nczarr", "nczarr.zip"),
        ("zarr2", "zarr2.zip"),
    ] {
        let export = peak(&world, &["export", "r", out, "--format", format]);
        eprintln!("to {out} as {format}: {export} KiB");
        assert!(export > 0 && export < LIMIT_KIB, "{format}: {export} KiB");
    }
    let name = format!("out/x/{}", TREE / chunk - 1);
    assert!(fs::metadata(world.path(&name)).unwrap().len() < chunk);
}
