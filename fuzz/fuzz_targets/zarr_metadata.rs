//! The `zarr.json` of a node, as it is stored already and as it is about to be stored.

#![no_main]

use icefield::NodeMetadata;
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seed(&Seeds::Documents),
    |input: &[u8]| {
        let stored = NodeMetadata::parse(input);
        let new = NodeMetadata::parse_new(input, 1 << 20);
        // A document that may be stored can be read, and means the same.
        if let Ok(new) = &new {
            assert_eq!(stored.as_ref().ok(), Some(new));
        }
        if let Ok(NodeMetadata::Array(array)) = stored {
            let rank = array.rank();
            assert_eq!((array.chunk_shape.len(), array.chunk_counts.len()), (rank, rank));
            assert!(array.dimension_names.is_none_or(|names| names.len() == rank));
            for ((length, chunk), count) in
                array.shape.iter().zip(&array.chunk_shape).zip(&array.chunk_counts)
            {
                assert_eq!(length.div_ceil(*chunk), u64::from(*count));
            }
        }
    }
);
