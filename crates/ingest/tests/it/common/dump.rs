//! An archive as JSON: the documents of its nodes, and where their chunks lie.

use icefield_ingest::{Archive, ArchiveChunks, ArchiveNode, ChunkExtents};
use serde_json::{Map, Value, json};

/// Returns `files`, a list of URLs, and `nodes`: by path a `document` and, of an array, `chunks`: a key relative to the
/// array and the file, offset and length, or the bytes in base64.
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
        ArchiveChunks::Mixed { extents, made } => {
            let mut found = in_files(extents);
            found.extend(
                made.iter()
                    .map(|(index, bytes)| json!([key(index), base64(bytes)])),
            );
            found
        }
        other => panic!("{other:?}"),
    };
    Value::Array(found)
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
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
