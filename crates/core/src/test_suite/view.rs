//! The contents of a repository as text: equal texts are equal repositories, whatever ids and times the
//! commits got.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_format::{ByteRange, NodePath, SnapshotId};
use icefield_storage::Storage;

use crate::{Repository, RepositoryError, Session};

/// The view of a store without a repository.
pub const NOTHING: &str = "no repository";

/// Reads everything that the refs of the repository at a store reach, chunk bytes included.
///
/// # Panics
/// If any of it cannot be read.
pub async fn view(storage: &Arc<dyn Storage>) -> String {
    let repository = match Repository::open(Arc::clone(storage)).await {
        Ok(repository) => repository,
        Err(RepositoryError::NotFound { .. }) => return NOTHING.to_owned(),
        Err(error) => panic!("it does not open: {error:?}"),
    };
    let config = repository.config().encode().expect("it was decoded");
    let mut text = format!("config {:016x}\n", digest(&config));
    let refs = repository.refs().await.expect("refs are listed");
    let mut trees = HashMap::new();
    for (name, tip) in &refs.branches {
        let tip = tip.as_ref().expect("the branch resolves");
        line(&mut text, &format!("branch {name:?}"));
        history(&repository, *tip, &mut trees, &mut text).await;
    }
    for (name, target) in &refs.tags {
        let target = target.as_ref().expect("the tag resolves");
        line(&mut text, &format!("tag {name:?}"));
        history(&repository, *target, &mut trees, &mut text).await;
    }
    for name in &refs.deleted_tags {
        line(&mut text, &format!("deleted tag {name:?}"));
    }
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

async fn history(
    repository: &Repository,
    tip: SnapshotId,
    trees: &mut HashMap<SnapshotId, String>,
    text: &mut String,
) {
    let history: Vec<_> = repository
        .ancestry(tip)
        .try_collect()
        .await
        .expect("the history is sound");
    for info in history {
        line(text, &format!("  {:?} {:?}", info.message, info.metadata));
        let tree = match trees.entry(info.id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let session = repository.read_session(info.id).await;
                place.insert(tree(&session.expect("the snapshot is readable")).await)
            }
        };
        text.push_str(tree);
    }
}

/// Reads all nodes and chunks that a session sees, as text.
///
/// # Panics
/// If any of it cannot be read.
pub async fn tree(session: &Session) -> String {
    let mut text = String::new();
    for node in session.nodes(&NodePath::root()).expect("a sound session") {
        let document = session.metadata(&node.path).expect("a sound session");
        let document = document.expect("a listed node exists");
        let digest = digest(&document);
        line(
            &mut text,
            &format!("    {} {:?} {digest:016x}", node.path, node.kind),
        );
        let Ok(chunks) = session.chunks(&node.path) else {
            continue;
        };
        let mut chunks: Vec<_> = chunks.try_collect().await.expect("manifests are readable");
        chunks.sort_unstable_by(|a: &crate::ChunkInfo, b| a.index.cmp(&b.index));
        for chunk in chunks {
            let bytes = session
                .chunk(&node.path, &chunk.index, ByteRange::All)
                .await;
            let bytes = bytes
                .expect("a listed chunk is readable")
                .expect("a listed chunk exists");
            let _ = writeln!(
                text,
                "      {} {} bytes {:016x}",
                chunk.index,
                bytes.len(),
                self::digest(&bytes)
            );
        }
    }
    text
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
