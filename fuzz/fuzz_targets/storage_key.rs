//! Keys and prefixes of a store.

#![no_main]

use icefield_format::layout::{self, KeyForm, RefKey};
use icefield_fuzz::{Seeds, seed};
use icefield_storage::{Key, MAX_KEY_BYTES, Prefix};
use libfuzzer_sys::fuzz_target;

fn one(text: &str) {
    let key = Key::parse(text);
    if let Ok(key) = &key {
        assert_eq!(key.as_str(), text);
        // Joined to a root, it does not leave the root.
        let bad = |segment: &str| matches!(segment, "" | "." | "..") || segment.contains('\0');
        assert!(!key.segments().any(bad) && text.len() <= MAX_KEY_BYTES);
        assert_eq!(key.segments().collect::<Vec<_>>().join("/"), text);
        assert!(key.is_below(&Prefix::all()));
    }
    if let Ok(prefix) = Prefix::parse(text) {
        assert_eq!(Prefix::parse(prefix.as_str()).as_ref(), Ok(&prefix));
        assert!(key.is_err() || prefix.as_str() == text);
        if let Ok(key) = prefix.key("x") {
            assert_eq!(key.below(&prefix), Some("x"));
        }
    }
}

/// Whatever a store holds below `refs/` is one ref in one spelling, or none.
fn spellings(text: &str) {
    for form in [KeyForm::Raw, KeyForm::ObjectStorePath] {
        if let Some((found, spelled)) = layout::read_ref_key(text, form) {
            assert_eq!(layout::ref_key_in(&found, spelled), text);
            let (RefKey::Branch(name) | RefKey::Tag(name) | RefKey::Tombstone(name)) = &found;
            // A lookup by the name looks at this key.
            let looked_at = [Some(form), layout::second_form(name, form)];
            assert!(looked_at.contains(&Some(spelled)));
        }
        if text.contains('/') {
            continue;
        }
        let own = layout::branch_key(text, form);
        let found = Some((RefKey::Branch(text.to_owned()), form));
        assert_eq!(layout::read_ref_key(&own, form), found);
        if let Some(second) = layout::second_form(text, form) {
            assert_ne!(layout::branch_key(text, second), own);
        }
    }
}

fuzz_target!(
    init: seed(&Seeds::Keys),
    |input: &[u8]| {
        let Ok(text) = std::str::from_utf8(input) else {
            return;
        };
        one(text);
        spellings(text);
        // Prefixes, by whole segments.
        let Some((prefix, rest)) = text.split_once('\n') else {
            return;
        };
        let (Ok(prefix), Ok(key)) = (Prefix::parse(prefix), Key::parse(rest)) else {
            return;
        };
        if let Some(below) = key.below(&prefix) {
            assert_eq!(prefix.key(below), Ok(key.clone()));
        }
        if let Ok(joined) = prefix.key(key.as_str()) {
            assert_eq!(joined.below(&prefix), Some(key.as_str()));
        }
    }
);
