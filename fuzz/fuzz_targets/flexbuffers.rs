//! FlexBuffers: as values of metadata, and as the configuration of spec 2.

#![no_main]

use icefield_format::{FlexBuffersError, RepositoryConfig, decode_flexbuffers, encode_flexbuffers};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

const LIMIT: u64 = 4 << 20;

fuzz_target!(
    init: seed(&Seeds::FlexBuffers),
    |input: &[u8]| {
        if let Ok(value) = decode_flexbuffers(input, LIMIT) {
            match encode_flexbuffers(&value) {
                Ok(document) => {
                    let again = decode_flexbuffers(&document, LIMIT).expect("what was written can be read");
                    assert_eq!(again, value);
                }
                // Files may nest deeper than is written.
                Err(FlexBuffersError::TooDeep { .. }) => {}
                Err(error) => panic!("cannot be written: {error}"),
            }
        }
        if let Ok(config) = RepositoryConfig::decode_flexbuffers(input)
            && let Ok(document) = config.encode_flexbuffers()
        {
            RepositoryConfig::decode_flexbuffers(&document).expect("what was written can be read");
        }
    }
);
