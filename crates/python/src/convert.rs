//! Conversions of arguments from Python to the types of the facade.

mod copies;

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use icefield::{BranchName, ByteRange, NodePath, Revision, SnapshotId, TagName, time_of_micros};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView, PyTuple};
use pyo3::{Borrowed, intern};
use serde_json::Value;

use crate::errors::Failure;

pub(crate) use copies::release;

/// The length in bytes up to which a value is cheaper to copy than to keep alive.
const COPIED: usize = 4 << 10;

/// The longest accepted chain of objects between a buffer and the `bytes` object that owns its memory.
const VIEWS: usize = 4;

/// Parses the path of a node, with or without slashes at its start and end.
pub(crate) fn path(text: &str) -> Result<NodePath, Failure> {
    let segments = text.strip_prefix('/').unwrap_or(text);
    let segments = segments.strip_suffix('/').unwrap_or(segments);
    NodePath::parse(&format!("/{segments}")).map_err(|error| {
        Failure::of("invalid-path", &error).prefixed(&format!("{text:?} is no path of a node"))
    })
}

pub(crate) fn snapshot_id(text: &str) -> Result<SnapshotId, Failure> {
    text.parse().map_err(|error: icefield::format::IdError| {
        Failure::of("invalid-snapshot-id", &error)
            .prefixed(&format!("{text:?} is no id of a snapshot"))
    })
}

/// Parses the name of an existing branch.
pub(crate) fn branch(name: &str) -> Result<BranchName, Failure> {
    Ok(BranchName::parse(name)?)
}

/// Parses the name of an existing tag.
pub(crate) fn tag(name: &str) -> Result<TagName, Failure> {
    Ok(TagName::parse(name)?)
}

/// Parses a revision: the kind is `branch`, `tag` or `snapshot`.
pub(crate) fn revision(kind: &str, name: &str) -> Result<Revision, Failure> {
    match kind {
        "branch" => Ok(branch(name)?.into()),
        "tag" => Ok(tag(name)?.into()),
        "snapshot" => Ok(snapshot_id(name)?.into()),
        _ => Err(Failure::new(
            "invalid-ref-type",
            format!("{kind:?} is no kind of version: say branch, tag or snapshot"),
        )),
    }
}

/// Parses the metadata of a commit, a JSON object.
pub(crate) fn metadata(json: Option<&str>) -> Result<BTreeMap<String, Value>, Failure> {
    let Some(json) = json else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_str(json).map_err(|error| {
        Failure::of("bad-metadata", &error).prefixed("the metadata of the commit is no JSON object")
    })
}

/// Returns the time at so many microseconds since 1970; earlier times become 1970.
pub(crate) fn time(micros: i64) -> SystemTime {
    time_of_micros(u64::try_from(micros).unwrap_or(0))
}

/// A byte range of a value: `(start, end)`, `(start, None)`, a number of last bytes, or `None` for the whole value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteRangeArg(pub(crate) ByteRange);

impl<'py> FromPyObject<'_, 'py> for ByteRangeArg {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.is_none() {
            return Ok(Self(ByteRange::All));
        }
        if let Ok(pair) = given.cast::<PyTuple>() {
            let (start, end): (u64, Option<u64>) = pair.extract()?;
            return Ok(Self(match end {
                Some(end) => ByteRange::Range { start, end },
                None => ByteRange::From { offset: start },
            }));
        }
        match given.extract() {
            Ok(length) => Ok(Self(ByteRange::Suffix { length })),
            Err(_) => Err(PyTypeError::new_err(
                "a range of bytes is (start, end), (start, None), a number of last bytes, or None",
            )),
        }
    }
}

/// The bytes of a value, which do not change any more. A `bytes` object, or a view of one, is kept alive instead of copied,
/// unless it is short. The owner of any other buffer may change it, so that is copied, row by row if it is not contiguous.
pub(crate) struct ValueBytes(pub(crate) Bytes);

impl<'py> FromPyObject<'_, 'py> for ValueBytes {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        bytes(&given).map(Self)
    }
}

/// As [`ValueBytes`].
pub(crate) fn bytes(given: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(immutable(bytes));
    }
    let Ok(buffer) = PyBuffer::<u8>::get(given) else {
        return elements(given);
    };
    let length = buffer.len_bytes();
    if length > COPIED
        && buffer.readonly()
        && buffer.is_c_contiguous()
        && let Some(bytes) = owner(given)
    {
        let all = immutable(&bytes);
        let at = (buffer.buf_ptr() as usize).checked_sub(all.as_ptr() as usize);
        if let Some(at) = at
            && let Some(end) = at.checked_add(length)
            && end <= all.len()
        {
            return Ok(all.slice(at..end));
        }
    }
    copies::copy(given.py(), &buffer)
}

fn immutable(bytes: &Bound<'_, PyBytes>) -> Bytes {
    match bytes.as_bytes() {
        short if short.len() <= COPIED => Bytes::copy_from_slice(short),
        _ => Bytes::from_owner(PyBackedBytes::from(bytes.clone())),
    }
}

/// Returns the `bytes` object that owns the memory of a memoryview or an array, if there is one.
fn owner<'py>(view: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
    let py = view.py();
    let mut view = view.clone();
    for _ in 0..VIEWS {
        if let Ok(bytes) = view.cast::<PyBytes>() {
            return Some(bytes.clone());
        }
        let name = match view.is_instance_of::<PyMemoryView>() {
            true => intern!(py, "obj"),
            false => intern!(py, "base"),
        };
        view = view.getattr(name).ok()?;
    }
    None
}

/// Returns the memory of elements that are not single bytes, in C order.
fn elements(given: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let view = PyMemoryView::from(given).map_err(|_| {
        let kind = given.get_type().name();
        let kind = kind.map_or_else(|_| "this object".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "a value is bytes, or an object with a buffer such as an array, and {kind} is neither"
        ))
    })?;
    let copied = view.call_method0(intern!(given.py(), "tobytes"))?;
    let copied = copied
        .cast_into::<PyBytes>()
        .map_err(|_| PyValueError::new_err("the buffer of the value cannot be read"))?;
    Ok(immutable(&copied))
}
