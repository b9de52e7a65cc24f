//! Ref files.

#![no_main]

use icefield_format::{decode_ref, encode_ref};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seed(&Seeds::Named("ref.json")),
    |input: &[u8]| {
        if let Ok(snapshot) = decode_ref(input) {
            let file = encode_ref(snapshot);
            assert_eq!(file.len(), 35);
            assert_eq!(decode_ref(&file).expect("what was written can be read"), snapshot);
        }
    }
);
