//! Files of GRIB: every header is read, and the fields of small grids are decoded.

#![no_main]

use std::sync::Arc;

use icefield::MemoryStorage;
use icefield::ingest::{
    ArchiveChunks, ArchiveFile, ArchiveNode, ArchiveOptions, Expected, Overlap, read_grib,
};
use icefield::storage::{Key, PutMode, Storage};
use icefield_fuzz::{Seeds, seed};
use libfuzzer_sys::fuzz_target;

/// Bytes of a field that is decoded, at most.
const MOST: usize = 4 << 20;
/// The crates that decode, whose panics become errors: `packing.rs` catches them.
const CAUGHT: [&str; 5] = ["/grib-", "/hayro-", "/png-", "/rust-aec-", "/fearless_simd-"];

/// Has panics that are caught not end the process, as libFuzzer's hook does with all.
fn pardon() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("", |place| place.file());
        if !CAUGHT.iter().any(|name| place.contains(name)) {
            hook(panic);
        }
    }));
}

async fn file(input: &[u8]) -> ArchiveFile {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let key = Key::parse("file").expect("a key");
    let bytes = bytes::Bytes::copy_from_slice(input);
    let put = storage.put(&key, bytes.into(), PutMode::Create.into());
    let _ = put.await.expect("it is put");
    ArchiveFile::open(storage, &key, "memory:file").await.expect("it is there")
}

fuzz_target!(
    init: {
        seed(&Seeds::Grib);
        pardon();
    },
    |input: &[u8]| {
        let read = async {
            let options = ArchiveOptions {
                lists_unsupported: true,
                duplicates: Overlap::Last,
                ..ArchiveOptions::default()
            };
            read_grib(file(input).await, options).await
        };
        let Ok(archive) = icefield::runtime().expect("started").block_on(read) else {
            return;
        };
        for node in archive.nodes.values() {
            let ArchiveNode::Array(array) = node else {
                continue;
            };
            let _ = node.document();
            assert_eq!(array.shape.len(), array.chunk_shape.len());
            let ArchiveChunks::Recoded { extents, recode, .. } = &array.chunks else {
                continue;
            };
            let elements: u64 = array.chunk_shape.iter().product();
            let chunk_bytes = usize::try_from(elements).unwrap_or(usize::MAX).saturating_mul(8);
            if chunk_bytes > MOST {
                continue;
            }
            let expected = Expected { element_bytes: 8, chunk_bytes };
            for row in extents.rows().take(8) {
                let bytes = &input[row.offset as usize..][..row.length as usize];
                if let Ok(chunk) = recode.chunk(row.index, bytes, &expected) {
                    let width = if array.data_type == "float64" { 8 } else { 4 };
                    let plain = zstd::bulk::decompress(&chunk, chunk_bytes).expect("it was compressed");
                    assert_eq!(plain.len() as u64, elements * width);
                }
            }
        }
    }
);
