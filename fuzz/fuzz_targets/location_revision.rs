//! Texts that users type: the location of a repository, and a revision of it.

#![no_main]

use icefield::{Location, RevisionSpec};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

const TEXTS: &[&str] = &[
    "data/ocean",
    "./odd:name",
    "file:///data/my%20ocean",
    "file://localhost/data",
    "file:/data",
    "memory:",
    "s3://bucket/prefix",
    "main",
    "main~2",
    "branch:x~3",
    "tag:v1@2015-03-01T00:00:00Z~1",
    "snapshot:1CECHNKREP0F1RSTCMT0~0",
];

fuzz_target!(
    init: seed(&Seeds::Texts(TEXTS)),
    |input: &[u8]| {
        let Ok(text) = std::str::from_utf8(input) else {
            return;
        };
        if let Ok(location) = Location::parse(text) {
            assert_eq!(location.as_str(), text);
            // The canonical URL names the same place. A path with a NUL, which no file can have, is taken
            // as a path all the same, but not in a URL.
            let url = location.to_url().filter(|_| !text.contains('\0'));
            if let Some(url) = url {
                let again = Location::parse(&url).expect("a canonical URL is a location");
                assert_eq!((again.path(), again.scheme()), (location.path(), location.scheme()));
                assert_eq!(again.to_url(), Some(url));
            }
        }
        if let Ok(revision) = RevisionSpec::parse(text) {
            assert_eq!(revision.to_string(), text);
        }
    }
);
