//! Objects of the alpha generation, in both layouts: snapshots, manifests, the files of refs.

#![no_main]

use icefield_alpha::{AlphaId, Layout, Manifest, Payload, RefFile, Snapshot};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

const KEY: &str = "a/key";

fn snapshot(input: &[u8], layout: Layout) {
    // The id is that of the file, and in all snapshots but the initial one it is in the file, too.
    let id = AlphaId::from_bytes([0; 16]);
    let found = match Snapshot::decode(input, layout, id, KEY) {
        Ok(snapshot) => Some(snapshot),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with(KEY), "{text}");
            let inner = text
                .rsplit_once("it is snapshot ")
                .and_then(|(_, id)| id.get(..26)?.parse().ok());
            inner.and_then(|id| Snapshot::decode(input, layout, id, KEY).ok())
        }
    };
    let Some(snapshot) = found else {
        return;
    };
    assert_eq!(snapshot.is_initial(), snapshot.listed_parent().is_none());
    for pair in snapshot.nodes().windows(2) {
        assert!(pair[0].path.cmp_segments(&pair[1].path).is_lt());
    }
    for node in snapshot.nodes() {
        assert_eq!(snapshot.node(&node.path).map(|it| it.id), Some(node.id));
        let parent = node.path.parent();
        let names = parent.map(|it| snapshot.child_names(&it));
        assert!(names.is_none_or(|names| names.iter().any(|it| it == node.path.name())));
        assert!(node.array.is_some() || node.manifests.is_empty());
    }
}

fn manifest(input: &[u8], layout: Layout) {
    let Ok(manifest) = Manifest::decode(input, layout, KEY) else {
        return;
    };
    let mut seen = 0;
    let mut nodes: Vec<u32> = manifest.entries().iter().map(|it| it.node).collect();
    nodes.dedup();
    assert!(nodes.is_sorted());
    for node in nodes {
        let of = manifest.of(node);
        assert!(of.iter().all(|it| it.node == node));
        assert!(
            of.windows(2)
                .all(|pair| pair[0].index[..] < pair[1].index[..])
        );
        seen += of.len();
        for entry in of {
            match &entry.payload {
                Payload::Inline(bytes) => assert!(!bytes.is_empty() && bytes.len() <= input.len()),
                Payload::Native { offset, length, .. }
                | Payload::Virtual { offset, length, .. } => {
                    assert!(*length > 0 && offset.checked_add(*length).is_some());
                }
            }
        }
    }
    assert_eq!(seen, manifest.entries().len());
}

fuzz_target!(
    init: seed(&Seeds::Alpha),
    |input: &[u8]| {
        for layout in [Layout::Literal, Layout::Code] {
            snapshot(input, layout);
            manifest(input, layout);
        }
        if let Ok(file) = RefFile::decode(input, KEY) {
            assert_eq!(file.snapshot.to_string().parse(), Ok(file.snapshot));
        }
    }
);
