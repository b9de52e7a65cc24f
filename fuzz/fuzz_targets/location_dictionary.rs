//! Dictionaries for locations and locations made with them: any of both, and texts there and back.

#![no_main]

use bytes::Bytes;
use icefield_format::{LocationCompression, LocationDictionary};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

/// A dictionary trained with locations that the input gives.
fn trained(text: &str) -> Option<LocationDictionary> {
    let lines: Vec<&str> = text.lines().collect();
    let settings = LocationCompression {
        min_num_chunks: 8,
        dictionary_max_size_bytes: 512,
        ..Default::default()
    };
    LocationDictionary::train(lines.into_iter(), &settings)
}

fn there_and_back(dictionary: &LocationDictionary, text: &str) {
    let mut writer = dictionary.writer(3).expect("the dictionary is usable");
    let mut reader = dictionary.reader().expect("the dictionary is usable");
    for location in text.lines() {
        if let Some(frame) = writer.write(location) {
            assert_eq!(reader.read(&frame), Ok(location));
        }
    }
}

fuzz_target!(
    init: seed(&Seeds::Dictionaries),
    |input: &[u8]| {
        if let Ok(text) = str::from_utf8(input)
            && let Some(dictionary) = trained(text)
        {
            there_and_back(&dictionary, text);
        }
        // A byte tells where the dictionary ends and the frame begins.
        let Some((at, rest)) = input.split_first() else {
            return;
        };
        let (frame, dictionary) = rest.split_at(rest.len().min(usize::from(*at)));
        if let Ok(dictionary) = LocationDictionary::from_bytes(Bytes::copy_from_slice(dictionary)) {
            let mut reader = dictionary.reader().expect("the dictionary is usable");
            if let Ok(location) = reader.read(frame) {
                assert!(location.len() <= 1024);
            }
            there_and_back(&dictionary, "s3://bucket/a/b.nc\ns3://bucket/a/c.nc");
        }
    }
);
