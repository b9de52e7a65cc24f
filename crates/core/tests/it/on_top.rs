//! Commits on top of repositories that the reference implementation wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_core::test_suite::words::*;
use icefield_core::{
    ByteRange, ChunkIndex, ChunkInfo, ChunkLocation, NodeKind, Session, SessionError,
    VirtualChunkError,
};
use icefield_format::NodePath;
use icefield_storage::Storage;
use icefield_testkit::fixtures;

use crate::support::{memory, trial};

/// Everything that a session sees, without the bytes of chunks.
async fn everything(session: &Session) -> BTreeMap<NodePath, (Vec<u8>, Vec<ChunkInfo>)> {
    let mut all = BTreeMap::new();
    for node in session.nodes(&NodePath::root()).expect("sound") {
        let document = session
            .metadata(&node.path)
            .expect("sound")
            .expect("listed");
        let chunks = match node.kind {
            NodeKind::Array => chunk_list(session, node.path.as_str()).await,
            NodeKind::Group => Vec::new(),
        };
        all.insert(node.path, (document.to_vec(), chunks));
    }
    all
}

async fn loaded(name: &str) -> (Arc<dyn Storage>, serde_json::Value) {
    let storage = memory();
    let expected = fixtures::load(name, &storage).await;
    (storage, expected)
}

#[tokio::test]
async fn a_commit_on_top_of_any_vector_changes_what_it_says_and_nothing_else() {
    let trial = trial("on top");
    let names = fixtures::names("v1-");
    assert!(names.len() >= 16, "{names:?}");
    for name in names {
        let (storage, _) = loaded(&name).await;
        let repository = trial.open(&storage).await;
        let session = writer(&repository).await;
        let mut expected = everything(&session).await;
        let from = session.snapshot_id().expect("sound");
        let mut touched = 0;
        for (path, (_, chunks)) in &mut expected {
            let Ok(array) = session.array(path) else {
                continue;
            };
            // The last chunk of the grid, whether there is one or not.
            let last: Option<Vec<u32>> = array
                .chunk_counts
                .iter()
                .map(|n| n.checked_sub(1))
                .collect();
            let Some(last) = last else {
                continue;
            };
            let bytes = pattern(touched, 33);
            write(&session, path.as_str(), &last, bytes).await;
            let new = ChunkInfo {
                index: ChunkIndex::from(last),
                location: ChunkLocation::Inline { length: 33 },
            };
            match chunks.binary_search_by(|chunk| chunk.index.cmp(&new.index)) {
                Ok(at) => chunks[at] = new,
                Err(at) => chunks.insert(at, new),
            }
            touched += 1;
        }
        if !expected.contains_key(&NodePath::root()) || session.array(&path("/")).is_err() {
            set(&session, "/on top", group()).await;
            expected.insert(path("/on top"), (group().into_bytes(), Vec::new()));
        }
        // Small thresholds of stored configurations make our chunks native.
        let threshold = repository.config().inline_chunk_threshold();
        let to = commit(&session, "on top").await;
        let again = trial.open(&storage).await;
        let mut found = everything(&read_main(&again).await).await;
        if threshold < 33 {
            for (_, chunks) in found.values_mut() {
                for chunk in chunks.iter_mut().filter(|it| it.location.length() == 33) {
                    chunk.location = ChunkLocation::Inline { length: 33 };
                }
            }
        }
        assert_eq!(found, expected, "{name}");
        let diff = again.diff(from, to).await.expect("readable");
        assert_eq!(diff.updated_chunks.len() as u64, touched, "{name}");
        assert!(
            diff.updated_chunks.values().all(|chunks| chunks.len() == 1),
            "{name}"
        );
    }
}

#[tokio::test]
async fn arrays_with_several_manifests_are_merged_when_they_are_written() {
    let (storage, _) = loaded("v1-splitting").await;
    let trial = trial("several manifests");
    let repository = trial.open(&storage).await;
    let session = writer(&repository).await;
    let base = repository
        .snapshot(session.snapshot_id().expect("sound"))
        .await
        .expect("sound");
    let several: Vec<_> = base
        .nodes()
        .filter(|node| node.array().is_some_and(|array| array.manifest_count() > 1))
        .map(|node| node.node_path())
        .collect();
    assert!(!several.is_empty());
    for at in &several {
        let before = chunk_list(&session, at.as_str()).await;
        assert!(before.len() > 1, "{at}");
        let [first, .., last] = &before[..] else {
            panic!("{at} has several chunks")
        };
        write(&session, at.as_str(), &first.index, "first").await;
        is!(session.delete_chunk(at, &last.index).await, Ok(()));
    }
    let pending = everything(&session).await;
    let id = commit(&session, "merged").await;
    let again = trial.open(&storage).await;
    let session = read_main(&again).await;
    let found = everything(&session).await;
    let locations = |all: &BTreeMap<NodePath, (Vec<u8>, Vec<ChunkInfo>)>| -> Vec<_> {
        let chunks = all.values().flat_map(|(_, chunks)| chunks);
        chunks
            .map(|chunk| (chunk.index.clone(), chunk.location.length()))
            .collect()
    };
    assert_eq!(locations(&found), locations(&pending));
    let snapshot = again.snapshot(id).await.expect("readable");
    for at in &several {
        let record = snapshot.node(at).expect("it stays");
        assert!(record.array().expect("an array").manifest_count() >= 1);
        let (_, chunks) = &found[at];
        holds(&session, at.as_str(), &chunks[0].index, Some(b"first")).await;
        for chunk in chunks {
            let bytes = session.chunk(at, &chunk.index, ByteRange::All).await;
            is!(bytes, Ok(Some(bytes)) if bytes.len() as u64 == chunk.location.length());
        }
    }
    icefield_core::test_suite::walk::assert_sound(&storage).await;
}

#[tokio::test]
async fn virtual_chunks_survive_a_commit_and_are_refused_by_name() {
    let (storage, _) = loaded("v1-virtual").await;
    let trial = trial("virtual");
    let session = writer(&trial.open(&storage).await).await;
    let before = everything(&session).await;
    let is_virtual = |chunk: &&ChunkInfo| matches!(chunk.location, ChunkLocation::Virtual { .. });
    let mut seen = 0;
    for (at, (_, chunks)) in &before {
        let Some(kept) = chunks.iter().rev().find(is_virtual) else {
            continue;
        };
        // Rewrites the manifest around the virtual chunks.
        let other = chunks.iter().find(|chunk| chunk.index != kept.index);
        write(
            &session,
            at.as_str(),
            &other.expect("two chunks").index,
            "ours",
        )
        .await;
        seen += 1;
    }
    assert!(seen > 1);
    commit(&session, "on top").await;
    let session = read_main(&trial.open(&storage).await).await;
    let after = everything(&session).await;
    let mut checksums = 0;
    for (at, (_, chunks)) in &after {
        for chunk in chunks.iter().filter(is_virtual) {
            assert!(before[at].1.contains(chunk), "{at} {chunk:?}");
            let ChunkLocation::Virtual {
                etag,
                last_modified,
                location: url,
                ..
            } = &chunk.location
            else {
                unreachable!()
            };
            checksums += usize::from(etag.is_some() || last_modified.is_some());
            is!(
                session.chunk(at, &chunk.index, ByteRange::All).await,
                Err(SessionError::VirtualChunk { path, index, location, source })
                    if path == *at && index == chunk.index && location.contains("://")
                        && matches!(*source, VirtualChunkError::NotGranted { .. } | VirtualChunkError::NoContainer)
                        && !url.is_empty(),
            );
        }
        let lost = before[at].1.iter().filter(is_virtual).count()
            - chunks.iter().filter(is_virtual).count();
        assert!(lost <= 1, "{at}: {lost}");
    }
    assert!(checksums > 0, "checksums are kept");
}
