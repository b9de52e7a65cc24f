//! Configuration files.

#![no_main]

use icefield_format::RepositoryConfig;
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seed(&Seeds::Named("config.yaml")),
    |input: &[u8]| {
        let Ok(config) = RepositoryConfig::decode(input) else {
            return;
        };
        assert_eq!(config.merged_over(&RepositoryConfig::default()), config);
        let Ok(file) = config.encode() else {
            return;
        };
        let again = RepositoryConfig::decode(&file).expect("what was written can be read");
        assert_eq!(again, config);
        assert_eq!(again.is_default(), config.is_default());
    }
);
