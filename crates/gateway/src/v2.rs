//! The Zarr v2 view: documents of format 2 beside chunks that stay what they are.
//!
//! An array that format 2 has no words for, or whose chunks would have to be encoded anew, is not there: the view never
//! shows other bytes than the repository has. Shards are cut into their inner chunks by the index in each.

use std::sync::Arc;

use icefield::ingest::ShardIndex;
use icefield::{ChunkIndex, NodePath};

use crate::documents::DocumentForm;
use crate::failure::Failure;
use crate::mount::Mount;
use crate::object::Object;
use crate::steps::within_step;
use crate::v2_tree::{ARRAY, ATTRIBUTES, CONSOLIDATED, GROUP, Tree, make};
use crate::v3::{self, Found};
use crate::versions::Version;

/// Finds the value of a key.
pub(crate) async fn find(mount: &Mount, version: &Version, key: &str) -> Result<Found, Failure> {
    let tree = tree(mount, version).await?;
    let (directory, name) = key.rsplit_once('/').unwrap_or(("", key));
    let Ok(path) = NodePath::parse(&format!("/{directory}")) else {
        return Ok(Found::Absent);
    };
    if let Some(failure) = tree.damaged.get(&path) {
        return Err(failure.clone());
    }
    if let Some(name) = [GROUP, ARRAY, ATTRIBUTES, CONSOLIDATED]
        .into_iter()
        .find(|it| *it == name)
    {
        let key = key.to_owned();
        let made = (version.id, DocumentForm::V2(name), path);
        let document = mount.documents.get(made, move |path| {
            Ok(match name {
                CONSOLIDATED => tree.consolidated(path).map(|bytes| (bytes, None)),
                _ => tree.documents.get(&key).map(|bytes| (bytes.clone(), None)),
            })
        });
        let document = document.await?;
        return Ok(document.map_or(Found::Absent, |it| Found::Value(it.object(), None)));
    }
    let Some(array) = tree.arrays.get(&path) else {
        return Ok(Found::Absent);
    };
    let Some(index) = coordinates(name, array.metadata.rank()) else {
        return Ok(Found::Absent);
    };
    let chunk = match &array.shards {
        None => v3::chunk(version, path, index.into()).await?,
        Some(shards) => inner(mount, version, path, shards, &index).await?,
    };
    Ok(chunk.map_or(Found::Absent, |chunk| Found::Value(chunk, None)))
}

/// Lists the children of a directory, `None` if there is no such directory.
pub(crate) async fn list(
    mount: &Mount,
    version: &Version,
    directory: &str,
) -> Result<Option<Vec<String>>, Failure> {
    let tree = tree(mount, version).await?;
    let Ok(path) = NodePath::parse(&format!("/{directory}")) else {
        return Ok(None);
    };
    let prefix = match directory {
        "" => String::new(),
        directory => format!("{}/", directory.trim_end_matches('/')),
    };
    let below = tree
        .documents
        .keys()
        .filter_map(|key| key.strip_prefix(&prefix));
    let mut children: Vec<String> = below
        .map(|rest| match rest.split_once('/') {
            Some((child, _)) => format!("{child}/"),
            None => rest.to_owned(),
        })
        .collect();
    if children.is_empty() {
        return Ok(None);
    }
    if !tree.arrays.contains_key(&path) {
        children.push(CONSOLIDATED.to_owned());
    }
    children.sort_unstable();
    children.dedup();
    Ok(Some(children))
}

/// Returns the nodes that format 2 cannot show, with the reasons.
pub(crate) async fn absent(
    mount: &Mount,
    version: &Version,
) -> Result<Vec<(NodePath, String)>, Failure> {
    Ok(tree(mount, version).await?.absent.clone())
}

/// Returns the hierarchy of a version in format 2.
pub(crate) async fn tree(mount: &Mount, version: &Version) -> Result<Arc<Tree>, Failure> {
    if let Some(tree) = mount.v2_trees.get(&version.id) {
        return Ok(tree);
    }
    let (trees, version, limit) = (
        Arc::clone(&mount.v2_trees),
        version.clone(),
        mount.documents.nodes(),
    );
    // A task of its own: a client that leaves does not take the work with it that the next one would begin anew.
    let made = tokio::spawn(within_step(async move {
        let made = async { make(&version, limit).await.map(Arc::new) };
        trees.get_or_insert_async(&version.id, made).await
    }));
    made.await
        .unwrap_or_else(|error| Err(Failure::damage(format!("{error}"))))
}

/// Finds an inner chunk of a shard. Its place is in the shard's index, which is read and kept.
async fn inner(
    mount: &Mount,
    version: &Version,
    path: NodePath,
    shards: &ShardIndex,
    index: &[u32],
) -> Result<Option<Object>, Failure> {
    let Some((shard, number)) = shards.place(index) else {
        return Ok(None);
    };
    let shard = ChunkIndex::from(shard);
    let name = format!("chunk {shard} of {path}");
    let Some(object) = v3::chunk(version, path, shard).await? else {
        return Ok(None);
    };
    let indexes = &mount.shard_indexes;
    let span = indexes.span(shards, &object, number, &name).await?;
    Ok(span.map(|span| object.part(span)))
}

/// Reads the coordinates of a chunk key, `0.1`.
fn coordinates(text: &str, rank: usize) -> Option<Vec<u32>> {
    if rank == 0 {
        return (text == "0").then(Vec::new);
    }
    let numbers: Option<Vec<u32>> = text
        .split('.')
        .map(|number| {
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
            let is_padded = number.len() > 1 && number.starts_with('0');
            number.parse().ok().filter(|_| is_plain && !is_padded)
        })
        .collect();
    numbers.filter(|numbers| numbers.len() == rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_one_spelling() {
        assert_eq!(coordinates("0.12", 2), Some(vec![0, 12]));
        assert_eq!(coordinates("0", 0), Some(vec![]));
        for (text, rank) in [
            ("0.1", 1),
            ("00", 1),
            ("+1", 1),
            ("", 1),
            ("1", 0),
            ("0.", 2),
            ("0/1", 2),
        ] {
            assert_eq!(coordinates(text, rank), None, "{text}");
        }
    }
}
