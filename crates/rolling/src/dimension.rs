//! A dimension as all arrays have it that belong together: how long it is, and which part of the world it shows.

use std::ops::Range;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, ChunkIndex, NodeKind, NodePath, Session};
use serde_json::Value;

use crate::RollingError;

/// The attribute of an array that holds the absolute index of element 0, one number per dimension.
pub const ORIGIN_ATTRIBUTE: &str = "origin";
/// The attribute of an array that holds the number of masked elements at the start of each dimension: they have no
/// labels, and read as the fill value.
pub const MASKED_ATTRIBUTE: &str = "masked_elements";
/// The attribute of an array that grows without moving: the absolute index, per dimension, of the first element that
/// the window still shows.
pub const WINDOW_ATTRIBUTE: &str = "window_start";

/// The window of a dimension, in absolute indices: an element keeps its absolute index, however often the window moves.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository, WriteMode};
/// use icefield_rolling::Window;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let session = repository.write_session(BranchName::main()).await?;
/// let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "dimension_names": ["time"],
///     "attributes": {"origin": [10]}, "data_type": "int8", "fill_value": 0,
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}"#;
/// session.set_metadata(&NodePath::parse("/depth")?, document.into(), WriteMode::Overwrite).await?;
///
/// let window = Window::of(&session, &NodePath::root(), "time")?;
/// assert_eq!((window.first(), window.end()), (10, 14));
/// assert_eq!(window.chunk_of(13, 2), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Absolute index of element 0.
    origin: i64,
    /// Elements, masked ones and those before the window's start included.
    length: u64,
    /// Elements at the start that show nothing.
    hidden: u64,
}

impl Window {
    pub(crate) fn new(origin: i64, length: u64, hidden: u64) -> Self {
        Self {
            origin,
            length,
            hidden,
        }
    }

    /// Returns the absolute index of element 0 of the arrays.
    pub fn origin(&self) -> i64 {
        self.origin
    }

    /// Returns the absolute index of the first element that is shown.
    pub fn first(&self) -> i64 {
        self.origin.saturating_add_unsigned(self.hidden)
    }

    /// Returns the absolute index after that of the last element.
    pub fn end(&self) -> i64 {
        self.origin.saturating_add_unsigned(self.length)
    }

    /// Returns the number of elements of the arrays along the dimension.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of elements at the start that the window does not show.
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Returns the index, along the dimension, of the chunk that holds an element, by the element's absolute index;
    /// `None` outside of the window. `chunk_length` is the array's elements per chunk along the dimension.
    pub fn chunk_of(&self, absolute: i64, chunk_length: u64) -> Option<u32> {
        let index = self.index_of(absolute)?;
        u32::try_from(index.checked_div(chunk_length)?).ok()
    }

    /// Returns the index in the arrays of an element, by its absolute index; `None` outside of the window.
    pub fn index_of(&self, absolute: i64) -> Option<u64> {
        let index = u64::try_from(i128::from(absolute) - i128::from(self.origin)).ok()?;
        (self.hidden <= index && index < self.length).then_some(index)
    }

    /// Reads the window that the arrays at and below a group show along a dimension.
    ///
    /// # Errors
    /// [`RollingError::NoSuchDimension`]; [`RollingError::WindowsDiffer`] if the arrays do not agree; other faults of
    /// the arrays.
    pub fn of(session: &Session, group: &NodePath, dimension: &str) -> Result<Self, RollingError> {
        Dimension::of(session, group, dimension).map(|it| it.window)
    }
}

/// An array that has the dimension.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) path: NodePath,
    /// Which of its dimensions it is.
    pub(crate) axis: usize,
    pub(crate) array: ArrayMetadata,
    pub(crate) document: Bytes,
    pub(crate) json: Value,
    /// Absolute index of element 0 per dimension, if it says so.
    pub(crate) origin: Option<Vec<i64>>,
    masked: Option<Vec<i64>>,
    window_start: Option<Vec<i64>>,
}

/// The arrays that have a dimension, sorted by path; at least one.
#[derive(Clone, Debug)]
pub(crate) struct Dimension {
    pub(crate) name: String,
    pub(crate) window: Window,
    pub(crate) members: Vec<Member>,
}

impl Member {
    fn of(
        session: &Session,
        path: &NodePath,
        dimension: &str,
    ) -> Result<Option<Self>, RollingError> {
        let array = session.array(path)?;
        let names = array.dimension_names.as_deref().unwrap_or_default();
        let mut axes = (0..names.len()).filter(|axis| names[*axis].as_deref() == Some(dimension));
        let Some(axis) = axes.next() else {
            return Ok(None);
        };
        if axes.next().is_some() {
            return Err(RollingError::DimensionTwice {
                path: path.clone(),
                dimension: dimension.to_owned(),
            });
        }
        if !array.grid.is_regular() {
            return Err(RollingError::UnequalChunks { path: path.clone() });
        }
        let document = session.metadata(path)?.unwrap_or_default();
        let json: Value = serde_json::from_slice(&document)
            .map_err(|_| RollingError::Document { path: path.clone() })?;
        let numbers = |attribute| numbers(path, &json, attribute, array.rank());
        Ok(Some(Self {
            origin: numbers(ORIGIN_ATTRIBUTE)?,
            masked: numbers(MASKED_ATTRIBUTE)?,
            window_start: numbers(WINDOW_ATTRIBUTE)?,
            path: path.clone(),
            axis,
            document,
            json,
            array,
        }))
    }

    /// Elements along the dimension.
    pub(crate) fn length(&self) -> u64 {
        self.array.shape[self.axis]
    }

    /// Elements per chunk along the dimension.
    pub(crate) fn chunk(&self) -> u64 {
        self.array.chunk_shape[self.axis].max(1)
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&Value> {
        self.json.get("attributes")?.get(name)
    }

    pub(crate) fn text_attribute(&self, name: &str) -> Option<&str> {
        self.attribute(name)?.as_str()
    }

    /// The value of an attribute with one number per dimension, with another one for this dimension.
    pub(crate) fn numbers_with(&self, attribute: &str, number: i64) -> Value {
        let numbers = match attribute {
            MASKED_ATTRIBUTE => &self.masked,
            WINDOW_ATTRIBUTE => &self.window_start,
            _ => &self.origin,
        };
        let mut numbers = numbers.clone().unwrap_or_else(|| match attribute {
            WINDOW_ATTRIBUTE => self
                .origin
                .clone()
                .unwrap_or_else(|| vec![0; self.array.rank()]),
            _ => vec![0; self.array.rank()],
        });
        numbers[self.axis] = number;
        numbers.into()
    }

    pub(crate) fn has(&self, attribute: &str) -> bool {
        self.attribute(attribute).is_some()
    }

    fn window(&self) -> Result<Window, RollingError> {
        let at = |numbers: &Option<Vec<i64>>| numbers.as_ref().map(|numbers| numbers[self.axis]);
        let origin = at(&self.origin).unwrap_or(0);
        let masked = at(&self.masked).unwrap_or(0);
        let before = at(&self.window_start).map_or(Some(0), |start| start.checked_sub(origin));
        let hidden = before
            .filter(|before| *before >= 0 && masked >= 0)
            .map(|before| before.max(masked));
        let hidden = hidden.and_then(|hidden| u64::try_from(hidden).ok());
        let fits = |hidden: &u64| *hidden <= self.length();
        let beyond = |attribute, rule| RollingError::Beyond {
            path: self.path.clone(),
            attribute,
            length: self.length(),
            rule,
        };
        let hidden = hidden.filter(fits).ok_or_else(|| match self.window_start {
            Some(_) => beyond(
                WINDOW_ATTRIBUTE,
                "it lies within the array, counted from its origin",
            ),
            None => beyond(MASKED_ATTRIBUTE, "no more elements can be masked"),
        })?;
        if origin.checked_add_unsigned(self.length()).is_none() {
            return Err(beyond(ORIGIN_ATTRIBUTE, "absolute indices have 64 bits"));
        }
        Ok(Window::new(origin, self.length(), hidden))
    }
}

/// An attribute with one whole number per dimension.
fn numbers(
    path: &NodePath,
    json: &Value,
    attribute: &'static str,
    rank: usize,
) -> Result<Option<Vec<i64>>, RollingError> {
    let Some(value) = json.get("attributes").and_then(|all| all.get(attribute)) else {
        return Ok(None);
    };
    let numbers = value.as_array().and_then(|values| {
        let numbers = values.iter().map(Value::as_i64);
        numbers.collect::<Option<Vec<i64>>>()
    });
    match numbers.filter(|numbers| numbers.len() == rank) {
        Some(numbers) => Ok(Some(numbers)),
        None => Err(RollingError::Attribute {
            path: path.clone(),
            attribute,
            found: value.to_string(),
        }),
    }
}

impl Dimension {
    /// Whether elements keep their index when the start of the window moves.
    pub(crate) fn is_absolute(&self) -> bool {
        self.members.iter().any(|it| it.window_start.is_some())
    }

    /// Finds the arrays at and below a group. Those that say nothing of their origin show what the others show.
    pub(crate) fn of(
        session: &Session,
        group: &NodePath,
        name: &str,
    ) -> Result<Self, RollingError> {
        let mut members = Vec::new();
        for node in session.nodes(group)? {
            if node.kind == NodeKind::Array {
                members.extend(Member::of(session, &node.path, name)?);
            }
        }
        let says = |member: &&Member| member.origin.is_some();
        let Some(model) = members.iter().find(says).or(members.first()) else {
            return Err(RollingError::NoSuchDimension {
                dimension: name.to_owned(),
                group: group.clone(),
            });
        };
        let window = model.window()?;
        for member in &members {
            let found = member.window()?;
            let same = match member.origin {
                Some(_) => found == window,
                None => found.length == window.length,
            };
            if !same {
                let text = |range: Range<i64>| format!("{} to {}", range.start, range.end);
                return Err(RollingError::WindowsDiffer {
                    dimension: name.to_owned(),
                    path: member.path.clone(),
                    found: text(found.first()..found.end()),
                    other: model.path.clone(),
                    expected: text(window.first()..window.end()),
                });
            }
        }
        Ok(Self {
            name: name.to_owned(),
            window,
            members,
        })
    }
}

/// Calls with every chunk of a box of a grid: `along` gives the chunks along one axis, all others are taken whole.
pub(crate) fn for_each_chunk(
    grid: &[u32],
    axis: usize,
    along: Range<u32>,
) -> impl Iterator<Item = ChunkIndex> + Send + use<> {
    let mut ranges: Vec<Range<u32>> = grid.iter().map(|count| 0..*count).collect();
    ranges[axis] = along;
    let is_empty = ranges.iter().any(|range| range.is_empty());
    let mut next =
        (!is_empty).then(|| ranges.iter().map(|range| range.start).collect::<Vec<u32>>());
    std::iter::from_fn(move || {
        let current = next.take()?;
        let mut following = current.clone();
        for (at, range) in following.iter_mut().zip(&ranges).rev() {
            *at += 1;
            if *at < range.end {
                next = Some(following);
                break;
            }
            *at = range.start;
        }
        Some(ChunkIndex::from(current))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_says_where_an_element_is() {
        let window = Window::new(-6, 10, 2);
        assert_eq!((window.first(), window.end()), (-4, 4));
        assert_eq!(window.index_of(-4), Some(2));
        assert_eq!(window.index_of(-5), None);
        assert_eq!(window.index_of(4), None);
        assert_eq!(window.chunk_of(3, 4), Some(2));
        assert_eq!(window.chunk_of(3, 0), None);
        assert_eq!(window.index_of(i64::MIN), None);
    }

    #[test]
    fn boxes_are_walked_in_order() {
        let all: Vec<Vec<u32>> = for_each_chunk(&[9, 2], 0, 3..5)
            .map(|it| it.to_vec())
            .collect();
        assert_eq!(all, [[3, 0], [3, 1], [4, 0], [4, 1]]);
        assert_eq!(for_each_chunk(&[9, 0], 0, 3..5).count(), 0);
        assert_eq!(for_each_chunk(&[9], 0, 3..3).count(), 0);
    }
}
