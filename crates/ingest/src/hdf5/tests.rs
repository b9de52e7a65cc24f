//! Small files that lead to one part many times: each part is read once, and what is kept is bounded.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::dataset;
use super::file::Hdf5;
use super::options::Hdf5Options;
use super::ranges::{RangeRequest, Ranges};
use crate::SourceError;

/// The cost of reading a file.
struct Taken {
    outcome: Result<usize, SourceError>,
    headers: usize,
    data_types: usize,
    held: u64,
    size: u64,
}

fn read(name: &str) -> Taken {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hdf5/");
    let bytes = std::fs::read(format!("{directory}{name}")).expect("a fixture");
    let bytes: Bytes = bytes.into();
    let size = bytes.len() as u64;
    let (ask, mut asked) = mpsc::channel::<RangeRequest>(1);
    let answers = std::thread::spawn(move || {
        while let Some(RangeRequest { range, answer }) = asked.blocking_recv() {
            let part = bytes.slice(range.start as usize..range.end as usize);
            answer.send(Ok(part)).expect("the parser waits");
        }
    });
    let file = Hdf5::open(Ranges::new(ask, size), name.to_owned()).expect("a superblock");
    let nodes = dataset::read_nodes(&file, &Hdf5Options::default());
    let taken = Taken {
        outcome: nodes.map(|nodes| nodes.len()),
        headers: file.headers.borrow().len(),
        data_types: file.data_types.borrow().len(),
        held: file.held.bytes(),
        size,
    };
    drop(file);
    answers.join().expect("all was answered");
    taken
}

#[test]
fn a_header_is_read_once_however_many_links_lead_to_it() {
    let taken = read("hostile-links.h5");
    // The root and one array, under 401 names.
    assert_eq!(taken.outcome.expect("read"), 402);
    assert_eq!(taken.headers, 2);
    // The array has 16 KiB of attributes. Each of its nodes has them as JSON, and no other copy.
    let copies = 401 * (20 * 800 + 6000);
    assert!(taken.held < copies, "{} of {}", taken.held, taken.size);
}

#[test]
fn a_committed_type_is_kept_once_however_many_attributes_have_it() {
    let taken = read("hostile-types.h5");
    assert_eq!(taken.outcome.expect("read"), 1);
    assert_eq!(taken.data_types, 1);
    assert!(taken.held < 16 * taken.size, "{}", taken.held);
}

#[test]
fn links_that_multiply_groups_end_in_an_error() {
    let taken = read("hostile-groups.h5");
    let error = taken.outcome.expect_err("two to the power of 18 groups");
    let text = error.to_string();
    assert!(text.contains("bytes of memory"), "{text}");
    assert_eq!(taken.headers, 20);
    assert!(taken.held <= 16 * taken.size + (32 << 20));
}

#[test]
fn a_structure_is_no_longer_than_twice_its_file() {
    use hdf5_reader::Storage;

    use super::ranges::Within;

    let (ask, mut asked) = mpsc::channel::<RangeRequest>(1);
    let zeros: Arc<[u8]> = vec![0; 1 << 20].into();
    let answers = std::thread::spawn(move || {
        while let Some(RangeRequest { range, answer }) = asked.blocking_recv() {
            let length = (range.end - range.start) as usize;
            let part = Bytes::copy_from_slice(&zeros[..length]);
            answer.send(Ok(part)).expect("the parser waits");
        }
    });
    let ranges = Ranges::new(ask, 1 << 20);
    let within = Within::new(&ranges);
    let read = || within.read_range(0, 1 << 19);
    let sound = (0..6).filter(|_| read().is_ok()).count();
    assert_eq!(sound, 6);
    assert!(read().is_err());
    drop(ranges);
    answers.join().expect("all was answered");
}
