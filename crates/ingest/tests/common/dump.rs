//! An archive as JSON: the documents of its nodes, and where their chunks lie.

use icefield_ingest::{Archive, ArchiveChunks, ArchiveNode, ChunkExtents};
use serde_json::{Map, Value, json};

/// Returns `files`, a list of URLs, and `nodes`: by path a `document` and, of an array, `chunks`: a key relative to the
/// array and the file, offset and length.
pub(crate) fn dump(archive: &Archive) -> Value {
    let files: Vec<&str> = archive.files.iter().map(|file| file.url()).collect();
    let mut nodes = Map::new();
    for (path, node) in &archive.nodes {
        let document: Value = serde_json::from_slice(&node.document()).unwrap();
        let mut described = json!({ "document": document });
        if let ArchiveNode::Array(array) = node {
            described["chunks"] = chunks(&array.chunks);
        }
        nodes.insert(path.to_string(), described);
    }
    json!({ "files": files, "nodes": nodes })
}

fn chunks(chunks: &ArchiveChunks) -> Value {
    let found = match chunks {
        ArchiveChunks::InFiles(extents) => in_files(extents),
        other => panic!("{other:?}"),
    };
    Value::Array(found)
}

fn in_files(extents: &ChunkExtents) -> Vec<Value> {
    let rows = extents.rows();
    rows.map(|row| json!([key(row.index), row.file, row.offset, row.length]))
        .collect()
}

fn key(index: &[u32]) -> String {
    let index = index.iter().map(|coordinate| format!("/{coordinate}"));
    format!("c{}", index.collect::<String>())
}
