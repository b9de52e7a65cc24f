//! Prints what `read_hdf5` finds in files, as one line of JSON for each: what `interop/hdf5_check.py` decodes.

use std::sync::Arc;

use icefield_core::ChunkIndex;
use icefield_ingest::{
    ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, ChunkExtents, Expected, Hdf5Options,
    read_hdf5,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Bytes, Key, PutOptions, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let path = std::path::PathBuf::from(path).canonicalize()?;
        let bytes = Bytes::from(std::fs::read(&path)?);
        let key = Key::parse("file")?;
        let memory = MemoryStorage::new();
        let put = memory.put(&key, bytes.clone().into(), PutOptions::default());
        let PutOutcome::Written(_) = put.await? else {
            return Err("the memory takes every file".into());
        };
        let counting = CountingStorage::new(Arc::new(memory));
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        let file = ArchiveFile::open(storage, &key, path.display().to_string()).await?;
        let line = match read_hdf5(file, Hdf5Options::default()).await {
            Ok(archive) => {
                let nodes = archive.nodes.iter();
                let nodes: Map<String, Value> = nodes
                    .map(|(path, node)| (path.to_string(), shown(node, &bytes)))
                    .collect();
                json!({ "file": path, "nodes": nodes })
            }
            Err(error) => json!({ "file": path, "error": error.to_string() }),
        };
        println!("{line}");
        let (read, size) = (counting.snapshot().total, bytes.len());
        let (count, read) = (read.get, read.bytes_read);
        eprintln!("{}: {count} reads, {read} bytes of {size}", path.display());
    }
    Ok(())
}

fn shown(node: &ArchiveNode, bytes: &[u8]) -> Value {
    // As text, because a `Value` would round some floats.
    let document = String::from_utf8_lossy(&node.document()).into_owned();
    let ArchiveNode::Array(array) = node else {
        return json!({ "document": document });
    };
    let mut made = Vec::new();
    let mut extents = Vec::new();
    match &array.chunks {
        ArchiveChunks::InFiles(found) => extents = rows(found),
        ArchiveChunks::Mixed {
            extents: found,
            made: chunks,
        } => {
            extents = rows(found);
            made.extend(at_hand(chunks));
        }
        ArchiveChunks::Made { chunks, .. } => made.extend(at_hand(chunks)),
        ArchiveChunks::Recoded {
            extents: found,
            recode,
            ..
        } => {
            extents = rows(found);
            for row in found.rows() {
                let chunk = &bytes[row.offset as usize..][..row.length as usize];
                let recoded = recode.chunk(row.index, chunk, &expected(array));
                made.push(json!([row.index, hex(&recoded.expect("decodes"))]));
            }
        }
    }
    json!({
        "document": document,
        "extents": extents,
        "made": made,
        "not_virtual": array.not_virtual(),
    })
}

fn at_hand(chunks: &[(ChunkIndex, Bytes)]) -> impl Iterator<Item = Value> {
    let chunks = chunks.iter();
    chunks.map(|(index, bytes)| json!([&**index, hex(bytes)]))
}

fn rows(extents: &ChunkExtents) -> Vec<Value> {
    let rows = extents.rows();
    rows.map(|row| json!([row.index, row.offset, row.length]))
        .collect()
}

fn expected(array: &ArchiveArray) -> Expected {
    let element_bytes = array.element_bytes().unwrap_or(1);
    let elements: u64 = array.chunk_shape.iter().product();
    Expected {
        element_bytes,
        chunk_bytes: element_bytes * elements as usize,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
