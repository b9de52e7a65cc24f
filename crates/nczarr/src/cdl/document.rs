//! A text of CDL, parsed.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use crate::{Dataset, Values};

use super::list::{append, empty, repeat};

/// The most values of a piece that [`Document::read`] gives.
const PIECE: u64 = 8192;

/// The content of a text of CDL: a dataset and its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The name after `netcdf`; it may be empty.
    pub name: String,
    /// The dataset. Unlimited dimensions are as long as the data requires.
    pub dataset: Dataset,
    /// The data of those variables that have some, in the order of the text.
    pub data: Vec<Data>,
}

impl Document {
    /// Returns all values of the variable of a path, in C order and in pieces, as [`print`](fn@super::print) takes them.
    /// Elements that the text gives no value for are the fill value. There are none for a path that is no variable.
    pub fn read<'a>(
        &'a self,
        path: &str,
    ) -> impl Iterator<Item = Result<Values, Infallible>> + use<'a> {
        let data = match self.data.iter().find(|data| data.path == path) {
            Some(data) => Some(Cow::Borrowed(data)),
            None => Data::without_values(&self.dataset, path).map(Cow::Owned),
        };
        let end = data.as_ref().map_or(0, |data| data.elements);
        let mut start = 0;
        std::iter::from_fn(move || {
            let data = data.as_ref()?;
            let count = PIECE.min(end - start);
            let range = start..start + count;
            start += count;
            (count > 0).then(|| Ok(data.values(range)))
        })
    }
}

/// The data of one variable: the values in the text, and their places. All other elements have the fill value, and take
/// no memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The absolute path of the variable.
    pub path: String,
    pub(super) elements: u64,
    pub(super) fill: Values,
    pub(super) given: Values,
    /// Where the given values are, in ascending order, apart from each other and without empty ones.
    pub(super) runs: Vec<Run>,
}

/// Given values that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// The first element.
    pub start: u64,
    /// Where its value is among those that are given.
    pub given: usize,
    /// How many there are.
    pub count: usize,
}

impl Run {
    fn end(&self) -> u64 {
        self.start + self.count as u64
    }
}

impl Data {
    /// Returns the data of a variable that the text gives no values for.
    fn without_values(dataset: &Dataset, path: &str) -> Option<Self> {
        let variable = dataset.variable(path)?;
        let shape = dataset.shape(variable).ok()?;
        let mut lengths = shape.iter();
        let elements = lengths.try_fold(1u64, |n, &length| n.checked_mul(length))?;
        Some(Self {
            path: path.to_owned(),
            elements,
            fill: fill(variable),
            given: empty(variable.data_type),
            runs: Vec::new(),
        })
    }

    /// Returns the number of elements of the variable.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns the places of the given values, as ranges of elements in C order: ascending, not empty, and apart from
    /// each other.
    pub fn given(&self) -> impl Iterator<Item = Range<u64>> {
        self.runs.iter().map(|run| run.start..run.end())
    }

    /// Returns the values of a range of elements in C order, cut at the end of the variable.
    pub fn values(&self, range: Range<u64>) -> Values {
        let mut values = empty(self.given.data_type());
        self.append_to(&mut values, range.start, range.end.min(self.elements));
        values
    }

    /// Returns the values of a block of the variable in C order: of `extent` elements along each dimension, beginning at
    /// `origin`. What lies outside of the `shape` is the fill value. The three are of the variable's rank.
    pub fn block(&self, shape: &[u64], origin: &[u64], extent: &[u64]) -> Values {
        let mut values = empty(self.given.data_type());
        let Some((&row, outer)) = extent.split_last() else {
            self.append_to(&mut values, 0, self.elements);
            return values;
        };
        let last = outer.len();
        let is_of_rank = shape.len() == extent.len() && origin.len() == extent.len();
        let rows = outer.iter().try_fold(1u64, |n, &it| n.checked_mul(it));
        let rows = rows.filter(|_| is_of_rank).unwrap_or(0);
        for number in 0..rows {
            // The first element of the row, if the row touches the variable at all.
            let (mut rest, mut stride, mut start) = (number, shape[last], Some(0u64));
            for at in (0..last).rev() {
                let index = origin[at].saturating_add(rest % extent[at]);
                rest /= extent[at];
                start = start
                    .filter(|_| index < shape[at])
                    .map(|start| start.saturating_add(index.saturating_mul(stride)));
                stride = stride.saturating_mul(shape[at]);
            }
            let inside = shape[last].saturating_sub(origin[last]).min(row);
            let inside = if start.is_some() { inside } else { 0 };
            let start = start.unwrap_or(0).saturating_add(origin[last]);
            self.append_to(&mut values, start, start + inside);
            repeat(&mut values, &self.fill, to_usize(row - inside));
        }
        values
    }

    fn append_to(&self, values: &mut Values, start: u64, end: u64) {
        let mut at = start;
        let first = self.runs.partition_point(|run| run.end() <= start);
        for run in &self.runs[first..] {
            if run.start >= end || at >= end {
                break;
            }
            let from = run.start.max(at);
            repeat(values, &self.fill, to_usize(from - at));
            let to = run.end().min(end);
            let given = run.given + to_usize(from - run.start);
            append(values, &self.given, given..given + to_usize(to - from));
            at = to;
        }
        repeat(values, &self.fill, to_usize(end.saturating_sub(at)));
    }
}

/// Returns what elements without a value become.
pub(super) fn fill(variable: &crate::Variable) -> Values {
    let is_right = |value: &Values| value.len() == 1 && value.data_type() == variable.data_type;
    let own = variable.fill_value().filter(is_right);
    own.unwrap_or_else(|| variable.data_type.default_fill())
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
