//! Reading objects as they are, and writing them again.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use icefield_format::layout::IdKey;
use icefield_format::{
    DecodeLimits, FileKind, FormatError, Header, Manifest, Snapshot, TransactionLog, Writer,
};
use icefield_refs::FetchError;
use icefield_storage::{
    Bytes, Compared, GetOptions, GetRange, Key, Payload, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt, Version,
};

use super::CopyError;
use crate::listing::ObjectKind;

/// Chunk objects up to this many bytes are held in memory, so that a write can be tried again; larger ones go through
/// piece by piece.
pub(crate) const WHOLE: u64 = 4 << 20;

/// A file of metadata, decoded.
#[derive(Debug)]
pub(crate) enum Decoded {
    Snapshot(Snapshot),
    Manifest(Manifest),
    TransactionLog,
}

/// Checks that a file is what its key says.
pub(crate) fn decode(
    key: IdKey,
    file: &[u8],
    limits: &DecodeLimits,
) -> Result<Decoded, FormatError> {
    Ok(match key {
        IdKey::Snapshot(id) => Decoded::Snapshot(Snapshot::decode(file, id, limits)?),
        IdKey::Manifest(id) => Decoded::Manifest(Manifest::decode(file, id, limits)?),
        IdKey::TransactionLog(id) => {
            TransactionLog::decode(file, id, limits)?;
            Decoded::TransactionLog
        }
        IdKey::Chunk(_) => unreachable!("BUG: chunks are not decoded"),
    })
}

fn word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Chunk => "chunk",
        ObjectKind::Manifest => "manifest",
        ObjectKind::TransactionLog => "transaction log",
        ObjectKind::Snapshot => "snapshot",
    }
}

fn last_segment(key: &Key) -> String {
    key.segments().next_back().unwrap_or_default().to_owned()
}

/// Reads a file of metadata as it is, decoded as well; `None` if there is none.
pub(crate) async fn try_read_file(
    source: &dyn Storage,
    kind: ObjectKind,
    id: [u8; 12],
    limits: &DecodeLimits,
) -> Result<Option<(Bytes, Decoded)>, CopyError> {
    let key = kind.key(id).map_err(CopyError::Source)?;
    match source.try_read_at_most(&key, limits.max_file()).await {
        Ok(Some((bytes, _))) => {
            let decoded = decode(kind.named(id), &bytes, limits)?;
            Ok(Some((bytes, decoded)))
        }
        Ok(None) => Ok(None),
        Err(StorageError::ObjectTooLarge { limit, .. }) => {
            let file = kind.file(id);
            Err(FormatError::TooLarge { file, limit }.into())
        }
        Err(error) => Err(CopyError::Fetch(FetchError::Storage {
            what: word(kind),
            id: last_segment(&key),
            source: error,
        })),
    }
}

/// Reads a file of metadata as it is, decoded as well.
pub(crate) async fn read_file(
    source: &dyn Storage,
    kind: ObjectKind,
    id: [u8; 12],
    limits: &DecodeLimits,
) -> Result<(Bytes, Decoded), CopyError> {
    match try_read_file(source, kind, id, limits).await? {
        Some(read) => Ok(read),
        None => {
            let key = kind.key(id).map_err(CopyError::Source)?;
            let id = last_segment(&key);
            Err(CopyError::Fetch(FetchError::Missing {
                what: word(kind),
                id,
                key,
            }))
        }
    }
}

/// Returns the options of a put, with the metadata that the format puts on objects of this kind.
fn options(kind: ObjectKind, id: [u8; 12], file: &[u8]) -> Result<PutOptions, FormatError> {
    // Never of class chunk: that may be written under its final name piece by piece, which is right for a name that
    // no run looks for after a crash. The next run looks for this one.
    let options = PutOptions::mode(PutMode::Create).with_content_type("application/octet-stream");
    let of_file = match kind {
        ObjectKind::Snapshot => FileKind::Snapshot,
        ObjectKind::Manifest => FileKind::Manifest,
        ObjectKind::TransactionLog => FileKind::TransactionLog,
        ObjectKind::Chunk => return Ok(options),
    };
    let header = Header::decode(file, kind.file(id))?;
    let writer = Writer {
        implementation: header.implementation(),
        ..Writer::default()
    };
    let metadata = writer
        .object_metadata_in(header.spec_version, of_file)
        .into_iter();
    Ok(metadata.fold(options, |options, (name, value)| {
        options.with_user_metadata(name, &value)
    }))
}

/// Writes bytes under the key of an id. If they are there already, that is as good.
pub(crate) async fn write_bytes(
    destination: &dyn Storage,
    kind: ObjectKind,
    id: [u8; 12],
    bytes: Bytes,
) -> Result<(), CopyError> {
    let key = kind.key(id).map_err(CopyError::Destination)?;
    let options = options(kind, id, &bytes)?;
    let put = destination.put_immutable(&key, bytes.clone(), options);
    match put.await.map_err(CopyError::Destination)? {
        PutOutcome::Written(_) => Ok(()),
        PutOutcome::Refused => Err(CopyError::OtherBytes { key }),
        PutOutcome::Unknown(source) => match destination.compare(&key, &bytes).await {
            Ok(Compared::Same(_)) => Ok(()),
            Ok(Compared::Other) => Err(CopyError::OtherBytes { key }),
            Ok(Compared::Absent) | Err(_) => Err(CopyError::WriteUnknown { key, source }),
        },
    }
}

/// Writes bytes in the place of a state that was read.
pub(super) async fn replace_bytes(
    destination: &dyn Storage,
    kind: ObjectKind,
    id: [u8; 12],
    bytes: Bytes,
    version: Version,
) -> Result<(), CopyError> {
    let key = kind.key(id).map_err(CopyError::Destination)?;
    let mut options = options(kind, id, &bytes)?;
    options.mode = PutMode::Update(version);
    let put = destination.put(&key, bytes.clone().into(), options);
    let unknown = match put.await.map_err(CopyError::Destination)? {
        PutOutcome::Written(_) => return Ok(()),
        // It may be the answer to a repetition of our own request.
        PutOutcome::Refused => None,
        PutOutcome::Unknown(source) => Some(source),
    };
    match (destination.compare(&key, &bytes).await, unknown) {
        (Ok(Compared::Same(_)), _) => Ok(()),
        (_, Some(source)) => Err(CopyError::WriteUnknown { key, source }),
        (Err(error), None) => Err(CopyError::Destination(error)),
        (Ok(_), None) => Err(CopyError::OtherBytes { key }),
    }
}

/// Writes a chunk object that is not held in memory. If one of the same size is there already, that is as good.
pub(crate) async fn write_stream(
    destination: &dyn Storage,
    id: [u8; 12],
    size: u64,
    stream: BoxStream<'static, Result<Bytes, StorageError>>,
) -> Result<(), CopyError> {
    let key = ObjectKind::Chunk.key(id).map_err(CopyError::Destination)?;
    let payload = Payload::Stream {
        size: Some(size),
        stream,
    };
    let options = options(ObjectKind::Chunk, id, &[])?;
    let unknown = match destination.put(&key, payload, options).await {
        Ok(PutOutcome::Written(_)) => return Ok(()),
        Ok(PutOutcome::Refused) => None,
        Ok(PutOutcome::Unknown(source)) => Some(source),
        Err(error) => return Err(CopyError::Destination(error)),
    };
    match (destination.head(&key).await, unknown) {
        (Ok(meta), _) if meta.size == size => Ok(()),
        (Ok(meta), _) => Err(CopyError::OtherSize {
            key,
            found: meta.size,
            expected: size,
        }),
        (Err(_), Some(source)) => Err(CopyError::WriteUnknown { key, source }),
        (Err(error), None) => Err(CopyError::Destination(error)),
    }
}

/// A chunk object on its way.
pub(crate) enum Chunk {
    /// All of it.
    Whole(Bytes),
    /// As it comes, with its size.
    Stream(u64, BoxStream<'static, Result<Bytes, StorageError>>),
}

/// Opens a chunk object, in which a chunk ends at byte `end`. A large one is read piece by piece, whatever the store
/// does by itself, all of one state of it.
pub(crate) async fn open_chunk(
    source: &Arc<dyn Storage>,
    id: [u8; 12],
    end: u64,
) -> Result<Chunk, CopyError> {
    let key = ObjectKind::Chunk.key(id).map_err(CopyError::Source)?;
    let options = GetOptions::default().with_max_size(WHOLE);
    match source.get(&key, options).await {
        Ok(object) => {
            check_end(&key, object.meta.size, end)?;
            let bytes = object.bytes().await.map_err(CopyError::Source)?;
            Ok(Chunk::Whole(bytes))
        }
        Err(StorageError::ObjectTooLarge { size, .. }) => {
            check_end(&key, size, end)?;
            Ok(Chunk::Stream(size, pieces(Arc::clone(source), key, size)))
        }
        Err(error) if error.is_not_found() => Err(CopyError::ChunkMissing { key }),
        Err(error) => Err(CopyError::Source(error)),
    }
}

/// Reads an object of so many bytes in ranges, one after the other.
pub(crate) fn pieces(
    source: Arc<dyn Storage>,
    key: Key,
    size: u64,
) -> BoxStream<'static, Result<Bytes, StorageError>> {
    let begin = (0, None::<Version>);
    let pieces = stream::try_unfold(begin, move |(from, version)| {
        let (source, key) = (Arc::clone(&source), key.clone());
        async move {
            let to = size.min(from + WHOLE);
            if from == to {
                return Ok(None);
            }
            let mut options = GetOptions::range(GetRange::Bounded(from..to));
            if let Some(version) = version {
                options = options.with_if_match(version);
            }
            let object = source.get(&key, options).await?;
            let version = object.meta.version.clone();
            Ok(Some((object.bytes().await?, (to, Some(version)))))
        }
    });
    pieces.boxed()
}

/// Checks that a chunk object is as long as what refers to it says.
pub(crate) fn check_end(key: &Key, size: u64, end: u64) -> Result<(), CopyError> {
    match size < end {
        true => Err(CopyError::ChunkTooShort {
            key: key.clone(),
            size,
            end,
        }),
        false => Ok(()),
    }
}
