//! The values of an archive's arrays, as an import copies them.

use std::collections::HashMap;

use futures::TryStreamExt;
use icefield_core::NodePath;
use icefield_ingest::{
    ArchiveNode, ArchiveSource, ChunkCodec, ChunkEntry, Elements, Source, SourceNode,
};
use serde_json::Value;
use sha2::Digest;

/// Returns the elements of an array of numbers, little-endian, the last dimension fastest.
pub(crate) async fn fixed(source: &ArchiveSource, at: &NodePath) -> Vec<u8> {
    let (shape, chunk_shape, codec, chunks) = decoded(source, at).await;
    let Elements::Fixed(fill) = codec.filled() else {
        panic!("{at} has texts");
    };
    let width = fill.len();
    let count: usize = shape.iter().product();
    let mut all = Vec::with_capacity(count * width);
    let mut place = vec![0_usize; shape.len()];
    for _ in 0..count {
        let (mut index, mut within) = (Vec::new(), 0);
        for (axis, length) in chunk_shape.iter().enumerate() {
            index.push((place[axis] / length) as u32);
            within = within * length + place[axis] % length;
        }
        match chunks.get(&index) {
            Some(Elements::Fixed(chunk)) => all.extend(&chunk[within * width..][..width]),
            Some(Elements::Variable(_)) => panic!("{at} has texts"),
            None => all.extend(fill),
        }
        for (axis, length) in shape.iter().enumerate().rev() {
            place[axis] += 1;
            if place[axis] < *length {
                break;
            }
            place[axis] = 0;
        }
    }
    all
}

/// Returns the texts of an array that is one chunk.
pub(crate) async fn texts(source: &ArchiveSource, at: &NodePath) -> Vec<String> {
    let (.., chunks) = decoded(source, at).await;
    let Some(Elements::Variable(texts)) = chunks.into_values().next() else {
        panic!("{at} has no texts");
    };
    let texts = texts.into_iter().map(|it| String::from_utf8(it).unwrap());
    texts.collect()
}

/// Returns a digest as Python prints it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

type Decoded = (
    Vec<usize>,
    Vec<usize>,
    ChunkCodec,
    HashMap<Vec<u32>, Elements>,
);

async fn decoded(source: &ArchiveSource, at: &NodePath) -> Decoded {
    let node = &source.archive().nodes[at];
    let ArchiveNode::Array(array) = node else {
        panic!("{at} is a group");
    };
    let lengths = |shape: &[u64]| shape.iter().map(|it| *it as usize).collect::<Vec<_>>();
    let document: Value = serde_json::from_slice(&node.document()).unwrap();
    let codec = ChunkCodec::new(&document).unwrap();
    let parsed = SourceNode::parse(node.document(), 1 << 24).unwrap();
    let metadata = parsed.array().unwrap();
    let entries: Vec<ChunkEntry> = source.chunks(at, metadata).try_collect().await.unwrap();
    let mut chunks = HashMap::new();
    for entry in entries {
        let ChunkEntry::Chunk { index, length } = entry else {
            panic!("{at}: {entry:?}");
        };
        let bytes = source.read_chunk(at, metadata, &index, length).await;
        let elements = codec.decode(&bytes.unwrap()).unwrap();
        chunks.insert(index.to_vec(), elements);
    }
    let (shape, chunk_shape) = (lengths(&array.shape), lengths(&array.chunk_shape));
    (shape, chunk_shape, codec, chunks)
}
