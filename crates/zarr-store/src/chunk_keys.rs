//! The spelling of the chunk keys of one array: coordinates to text and back, without looking anything up.

use std::cmp::Ordering;
use std::fmt::Write;

use icefield_core::{ArrayMetadata, ChunkIndex, ChunkKeyEncoding, NodePath};

use crate::ChunkKeyProblem;

/// The chunk keys of one array, relative to the array's path: the one place where they are written and parsed.
///
/// | | rank 2 | rank 0 |
/// |---|---|---|
/// | `default`, `/` | `c/0/1` | `c` |
/// | `default`, `.` | `c.0.1` | `c` |
/// | `v2`, `/` | `0/1` | `0` |
/// | `v2`, `.` | `0.1` | `0` |
///
/// ```
/// use icefield_core::ChunkKeyEncoding;
/// use icefield_zarr_store::ChunkKeys;
///
/// let keys = ChunkKeys::new(ChunkKeyEncoding::COMMON, 2);
/// assert_eq!(keys.key(&[0, 1]), "c/0/1");
/// assert!(keys.decode("c/0/01").is_err(), "each chunk has one key");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkKeys {
    encoding: ChunkKeyEncoding,
    rank: usize,
}

impl ChunkKeys {
    /// Returns the keys of an array with this encoding and this many dimensions.
    pub fn new(encoding: ChunkKeyEncoding, rank: usize) -> Self {
        Self { encoding, rank }
    }

    /// Returns the keys of an array.
    pub fn of(array: &ArrayMetadata) -> Self {
        Self::new(array.chunk_key_encoding, array.rank())
    }

    /// Returns the number of dimensions of the array.
    pub fn rank(self) -> usize {
        self.rank
    }

    /// Returns the name below the array under which all its chunk keys lie, if there is one.
    pub(crate) fn common_directory(self) -> Option<&'static str> {
        match self.encoding {
            ChunkKeyEncoding::Default { separator: '/' } if self.rank > 0 => Some("c/"),
            _ => None,
        }
    }

    /// Returns the key of the chunk with these coordinates, one per dimension.
    pub fn key(self, index: &[u32]) -> String {
        let mut key = String::new();
        self.encode(index, &mut key);
        key
    }

    /// Appends the key of a chunk.
    pub(crate) fn encode(self, index: &[u32], key: &mut String) {
        let separator = match self.encoding {
            ChunkKeyEncoding::Default { separator } => {
                key.push('c');
                if !index.is_empty() {
                    key.push(separator);
                }
                separator
            }
            ChunkKeyEncoding::V2 { separator } => {
                if index.is_empty() {
                    key.push('0');
                }
                separator
            }
        };
        for (dimension, coordinate) in index.iter().enumerate() {
            if dimension > 0 {
                key.push(separator);
            }
            // Writing to a string cannot fail.
            let _ = write!(key, "{coordinate}");
        }
    }

    /// Returns a whole key of the array at `path`, to show in an error.
    pub(crate) fn example(self, path: &NodePath) -> String {
        let mut key = directory(path);
        self.encode(&vec![0; self.rank], &mut key);
        key
    }

    /// Parses the coordinates from a key. Exactly the keys that [`ChunkKeys::key`] makes are accepted: `c/01` is not
    /// another name of `c/1`. The coordinates may lie outside the grid.
    ///
    /// # Errors
    /// The problem of the key.
    pub fn decode(self, text: &str) -> Result<ChunkIndex, ChunkKeyProblem> {
        let (separator, coordinates) = match self.encoding {
            ChunkKeyEncoding::Default { separator } => {
                let rest = text.strip_prefix('c').ok_or(ChunkKeyProblem::Form)?;
                let coordinates = match rest.strip_prefix(separator) {
                    Some(coordinates) => Some(coordinates),
                    None if rest.is_empty() => None,
                    None => return Err(ChunkKeyProblem::Form),
                };
                (separator, coordinates)
            }
            ChunkKeyEncoding::V2 { .. } if self.rank == 0 && text == "0" => {
                return Ok(ChunkIndex::default());
            }
            ChunkKeyEncoding::V2 { separator } => (separator, Some(text)),
        };
        let index = match coordinates {
            Some(coordinates) => numbers(coordinates, separator)?,
            None => Vec::new(),
        };
        if index.len() != self.rank {
            return Err(ChunkKeyProblem::Rank {
                expected: self.rank,
                found: index.len(),
            });
        }
        Ok(index.into())
    }

    /// Reads a directory below the array, such as `c/3`: the leading coordinates of the chunks whose keys lie
    /// strictly below it. `None` if no chunk's key can.
    pub(crate) fn decode_directory(self, text: &str) -> Option<Vec<u32>> {
        let coordinates = match self.encoding {
            ChunkKeyEncoding::Default { separator: '/' } => match text.strip_prefix('c')? {
                "" => None,
                rest => Some(rest.strip_prefix('/')?),
            },
            ChunkKeyEncoding::V2 { separator: '/' } => Some(text),
            _ => return None,
        };
        let leading = match coordinates {
            Some(coordinates) => numbers(coordinates, '/').ok()?,
            None => Vec::new(),
        };
        (leading.len() < self.rank).then_some(leading)
    }
}

/// Parses coordinates. `00`, `+1` and `1e0` are refused: each chunk has one key.
fn numbers(text: &str, separator: char) -> Result<Vec<u32>, ChunkKeyProblem> {
    text.split(separator)
        .map(|number| canonical(number).ok_or_else(|| ChunkKeyProblem::Number(number.to_owned())))
        .collect()
}

fn canonical(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if plain && !padded {
        text.parse().ok()
    } else {
        None
    }
}

/// Compares two indices of one array as the texts of their keys compare, byte by byte.
///
/// Both separators sort before every digit, so the texts compare coordinate by coordinate.
pub(crate) fn compare_as_text(a: &[u32], b: &[u32]) -> Ordering {
    let texts = |index| <[u32]>::iter(index).copied().map(text_rank);
    texts(a).cmp(texts(b))
}

/// A number that compares as the decimal text of `n` does: its digits from the left, then their count.
fn text_rank(n: u32) -> u64 {
    /// The factors that move a number of so many digits, less one, to ten digits, which is the most there are.
    const SHIFTS: [u64; 10] = [
        1_000_000_000,
        100_000_000,
        10_000_000,
        1_000_000,
        100_000,
        10_000,
        1000,
        100,
        10,
        1,
    ];
    let digits = n.checked_ilog10().unwrap_or(0);
    ((u64::from(n) * SHIFTS[digits as usize]) << 4) | u64::from(digits)
}

/// The text that the keys of a node and of all below it begin with; empty for the root.
pub(crate) fn directory(node: &NodePath) -> String {
    let relative = node.as_str().trim_start_matches('/');
    match relative {
        "" => String::new(),
        relative => format!("{relative}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODINGS: [ChunkKeyEncoding; 4] = [
        ChunkKeyEncoding::Default { separator: '/' },
        ChunkKeyEncoding::Default { separator: '.' },
        ChunkKeyEncoding::V2 { separator: '/' },
        ChunkKeyEncoding::V2 { separator: '.' },
    ];

    fn text(encoding: ChunkKeyEncoding, index: &[u32]) -> String {
        ChunkKeys::new(encoding, index.len()).key(index)
    }

    #[test]
    fn each_encoding_has_its_spelling() {
        let [slash, dot, v2_slash, v2_dot] = ENCODINGS;
        for (encoding, two, one, none) in [
            (slash, "c/0/12", "c/7", "c"),
            (dot, "c.0.12", "c.7", "c"),
            (v2_slash, "0/12", "7", "0"),
            (v2_dot, "0.12", "7", "0"),
        ] {
            assert_eq!(text(encoding, &[0, 12]), two);
            assert_eq!(text(encoding, &[7]), one);
            assert_eq!(text(encoding, &[]), none);
            for (key, index) in [(two, &[0, 12][..]), (one, &[7]), (none, &[])] {
                let decoded = ChunkKeys::new(encoding, index.len()).decode(key).unwrap();
                assert_eq!(&*decoded, index);
            }
        }
    }

    #[test]
    fn only_canonical_numbers_are_coordinates() {
        let keys = ChunkKeys::new(ChunkKeyEncoding::COMMON, 1);
        assert_eq!(&*keys.decode("c/4294967295").unwrap(), [u32::MAX]);
        for number in [
            "+1",
            "-1",
            "00",
            "01",
            "1e0",
            "",
            " 1",
            "1.0",
            "0x1",
            "4294967296",
            "١",
        ] {
            let problem = keys.decode(&format!("c/{number}"));
            assert_eq!(problem, Err(ChunkKeyProblem::Number(number.to_owned())));
        }
    }

    #[test]
    fn the_form_and_the_rank_must_fit() {
        let two = ChunkKeys::new(ChunkKeyEncoding::COMMON, 2);
        let rank = |found| Err(ChunkKeyProblem::Rank { expected: 2, found });
        assert_eq!(two.decode("c"), rank(0));
        assert_eq!(two.decode("c/0"), rank(1));
        assert_eq!(two.decode("c/0/0/0"), rank(3));
        for other in ["0/0", "0.0", "c.0.0", "d/0/0", "cc/0/0", "C/0/0"] {
            assert_eq!(two.decode(other), Err(ChunkKeyProblem::Form), "{other}");
        }
        let scalar = ChunkKeys::new(ChunkKeyEncoding::V2 { separator: '.' }, 0);
        assert_eq!(
            scalar.decode("1"),
            Err(ChunkKeyProblem::Rank {
                expected: 0,
                found: 1
            })
        );
        assert!(scalar.decode("c").is_err());
    }

    #[test]
    fn a_directory_leaves_at_least_one_coordinate_open() {
        let [slash, dot, v2_slash, v2_dot] = ENCODINGS.map(|encoding| ChunkKeys::new(encoding, 2));
        assert_eq!(slash.decode_directory("c"), Some(vec![]));
        assert_eq!(slash.decode_directory("c/3"), Some(vec![3]));
        for other in ["c/3/4", "c/03", "3", "d", "c3", "cc"] {
            assert_eq!(slash.decode_directory(other), None, "{other}");
        }
        assert_eq!(v2_slash.decode_directory("3"), Some(vec![3]));
        assert_eq!(v2_slash.decode_directory("3/4"), None);
        assert_eq!(dot.decode_directory("c"), None);
        assert_eq!(v2_dot.decode_directory("3"), None);
        let scalar = ChunkKeys::new(ChunkKeyEncoding::COMMON, 0);
        assert_eq!(scalar.decode_directory("c"), None);
    }

    #[test]
    fn indices_compare_as_their_keys_do() {
        let numbers = [
            0,
            1,
            2,
            9,
            10,
            11,
            19,
            20,
            99,
            100,
            1_000_000_000,
            4_294_967_295,
        ];
        for encoding in ENCODINGS {
            for a in numbers {
                for b in numbers {
                    for (a, b) in [
                        (vec![a], vec![b]),
                        (vec![a, 5], vec![b, 40]),
                        (vec![3, a], vec![3, b]),
                    ] {
                        let texts = text(encoding, &a).cmp(&text(encoding, &b));
                        assert_eq!(compare_as_text(&a, &b), texts, "{a:?} {b:?}");
                    }
                }
            }
        }
    }
}
