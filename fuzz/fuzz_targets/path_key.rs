//! Ids, node paths, object keys and byte ranges.

#![no_main]

use icefield_format::layout::{self, KeyForm, RefKey};
use icefield_format::{ByteRange, NodeId, NodePath, SnapshotId};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

fn texts(text: &str) {
    if let Ok(id) = text.parse::<SnapshotId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(id) = text.parse::<NodeId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(path) = NodePath::parse(text) {
        assert_eq!(path.as_str(), text);
        let parent = path.parent();
        assert_eq!(
            parent.as_ref().map(|parent| parent.join(path.name())),
            parent.as_ref().map(|_| Ok(path.clone()))
        );
        assert!(parent.is_none_or(|parent| parent.is_ancestor_of(&path)));
    }
    if let Some(key) = layout::parse_id_key(text) {
        assert_eq!(key.key(), text);
    }
    for form in [KeyForm::Raw, KeyForm::ObjectStorePath] {
        let key = match layout::parse_ref_key(text, form) {
            Some(RefKey::Branch(name)) => layout::branch_key(&name, form),
            Some(RefKey::Tag(name)) => layout::tag_key(&name, form),
            Some(RefKey::Tombstone(name)) => layout::tombstone_key(&name, form),
            None => continue,
        };
        assert_eq!(key, text);
    }
}

fuzz_target!(
    init: seed(&Seeds::Keys),
    |input: &[u8]| {
        if let Ok(text) = std::str::from_utf8(input) {
            texts(text);
        }
        let number = |at: usize| {
            let bytes = input.get(8 * at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let (a, b, size) = (number(0), number(1), number(2));
        for range in [
            ByteRange::All,
            ByteRange::From { offset: a },
            ByteRange::Range { start: a, end: b },
            ByteRange::Suffix { length: a },
        ] {
            if let Some(range) = range.resolve(size) {
                assert!(range.start <= range.end && range.end <= size);
            }
        }
    }
);
