//! How chunk keys are spelt: `c/0/1`, `c.0.1`, `0.1`, `0/1`.

use std::fmt::Write as _;

use icefield_core::ChunkKeyEncoding;

/// Why a key is no chunk of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoChunk {
    /// It is not spelt like one.
    Spelling,
    /// A coordinate is beyond every grid.
    OutOfGrid,
}

/// Returns the key of a chunk below its array.
pub(crate) fn encode(encoding: ChunkKeyEncoding, index: &[u32]) -> String {
    let mut key = String::new();
    let separator = match encoding {
        ChunkKeyEncoding::Default { separator } => {
            key.push('c');
            separator
        }
        ChunkKeyEncoding::V2 { separator } => {
            if index.is_empty() {
                key.push('0');
            }
            separator
        }
    };
    for coordinate in index {
        if !key.is_empty() {
            key.push(separator);
        }
        let _ = write!(key, "{coordinate}");
    }
    key
}

/// Reads the key of a chunk of an array with `rank` dimensions. Exactly the keys that [`encode`] makes are
/// accepted: `c/01` is not another name of `c/1`.
pub(crate) fn decode(
    encoding: ChunkKeyEncoding,
    rank: usize,
    key: &str,
) -> Result<Vec<u32>, NoChunk> {
    let (rest, separator) = match encoding {
        ChunkKeyEncoding::Default { separator } => {
            let rest = key.strip_prefix('c').ok_or(NoChunk::Spelling)?;
            let rest = match rank {
                0 => rest,
                _ => rest.strip_prefix(separator).ok_or(NoChunk::Spelling)?,
            };
            (rest, separator)
        }
        ChunkKeyEncoding::V2 { separator } if rank == 0 => {
            (key.strip_prefix('0').ok_or(NoChunk::Spelling)?, separator)
        }
        ChunkKeyEncoding::V2 { separator } => (key, separator),
    };
    if rank == 0 {
        return match rest {
            "" => Ok(Vec::new()),
            _ => Err(NoChunk::Spelling),
        };
    }
    let parts = rest.split(separator);
    let mut index = Vec::with_capacity(rank);
    for part in parts {
        index.push(coordinate(part)?);
    }
    match index.len() == rank {
        true => index
            .into_iter()
            .map(|coordinate| u32::try_from(coordinate).map_err(|_| NoChunk::OutOfGrid))
            .collect(),
        false => Err(NoChunk::Spelling),
    }
}

fn coordinate(text: &str) -> Result<u64, NoChunk> {
    let plain = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    match plain {
        true => Ok(text.parse().unwrap_or(u64::MAX)),
        false => Err(NoChunk::Spelling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODINGS: [ChunkKeyEncoding; 4] = [
        ChunkKeyEncoding::Default { separator: '/' },
        ChunkKeyEncoding::Default { separator: '.' },
        ChunkKeyEncoding::V2 { separator: '.' },
        ChunkKeyEncoding::V2 { separator: '/' },
    ];

    #[test]
    fn keys_round_trip() {
        let keys = |index: &[u32]| ENCODINGS.map(|encoding| encode(encoding, index));
        assert_eq!(keys(&[]), ["c", "c", "0", "0"]);
        assert_eq!(keys(&[7]), ["c/7", "c.7", "7", "7"]);
        assert_eq!(keys(&[0, 12]), ["c/0/12", "c.0.12", "0.12", "0/12"]);
        for index in [&[][..], &[0], &[4_294_967_295, 0, 5]] {
            for encoding in ENCODINGS {
                let key = encode(encoding, index);
                assert_eq!(decode(encoding, index.len(), &key).as_deref(), Ok(index));
            }
        }
    }

    #[test]
    fn one_chunk_has_one_key() {
        for key in [
            "", "c", "c/", "c/0/", "c/00", "c/-1", "c/+1", "c/1/2", "c.1", "d/1", "c/ 1", "c/a",
            "1",
        ] {
            assert_eq!(
                decode(ENCODINGS[0], 1, key),
                Err(NoChunk::Spelling),
                "{key}"
            );
        }
        assert_eq!(
            decode(ENCODINGS[0], 1, "c/4294967296"),
            Err(NoChunk::OutOfGrid)
        );
        assert_eq!(
            decode(ENCODINGS[2], 1, "99999999999999999999999"),
            Err(NoChunk::OutOfGrid)
        );
        assert_eq!(decode(ENCODINGS[0], 0, "c/0"), Err(NoChunk::Spelling));
        assert_eq!(decode(ENCODINGS[2], 0, "00"), Err(NoChunk::Spelling));
    }
}
