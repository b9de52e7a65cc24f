//! The data of variables before all lengths are known, and their places in the final shapes.

use super::scope::{Scopes, VariableId};
use crate::Values;
use crate::cdl::document::{Data, Run};
use crate::cdl::error::{CdlError, Position, Rule};
use crate::cdl::token::error;

/// The data of a variable before all lengths are known.
pub(super) struct FoundData {
    pub(super) id: VariableId,
    pub(super) position: Position,
    pub(super) segments: Vec<Segment>,
    pub(super) fill: Values,
    pub(super) given: Values,
    pub(super) runs: Vec<RunPosition>,
    /// For each run, the indices of the braces around it, the outermost first.
    pub(super) outer: Vec<u64>,
}

impl FoundData {
    pub(super) fn innermost(&mut self) -> &mut Segment {
        self.segments
            .last_mut()
            .expect("BUG: every variable has a segment")
    }
}

/// Some dimensions of a variable.
pub(super) struct Segment {
    /// The first of them.
    pub(super) dimension: usize,
    /// How many values one index of the first dimension takes.
    pub(super) stride: u64,
    /// How many values there can be, if that is fixed.
    pub(super) capacity: Option<u64>,
    /// The most values that are given within the same braces.
    pub(super) most: u64,
}

/// A run before all lengths are known.
pub(super) struct RunPosition {
    /// The first value within the innermost braces.
    pub(super) start: u64,
    pub(super) given: usize,
    pub(super) count: usize,
}

impl Segment {
    /// Notes that there are so many values within the same braces.
    pub(super) fn note(
        &mut self,
        count: u64,
        name: &str,
        position: Position,
    ) -> Result<(), CdlError> {
        let most = if self.stride == 0 {
            Some(0)
        } else {
            self.capacity
        };
        if let Some(elements) = most
            && count > elements
        {
            let name = name.to_owned();
            return Err(error(position, Rule::TooMany { name, elements }));
        }
        self.most = self.most.max(count);
        Ok(())
    }
}

/// Lengthens the unlimited dimensions as the data asks for, and returns the data with their places in the final shapes.
pub(super) fn placed(scopes: &mut Scopes, found: Vec<FoundData>) -> Result<Vec<Data>, CdlError> {
    for found in &found {
        let dimensions = scopes.variable(found.id).dimensions.clone();
        for segment in &found.segments {
            let dimension = dimensions.get(segment.dimension);
            let dimension = dimension.and_then(|path| scopes.dimension_mut(path));
            if let Some(dimension) = dimension.filter(|it| it.is_unlimited) {
                let needed = segment.most.div_ceil(segment.stride.max(1));
                dimension.length = dimension.length.max(needed);
            }
        }
    }
    found
        .into_iter()
        .map(|found| place_in_shape(scopes, found))
        .collect()
}

fn place_in_shape(scopes: &mut Scopes, found: FoundData) -> Result<Data, CdlError> {
    let dimensions = scopes.variable(found.id).dimensions.clone();
    let lengths: Vec<u64> = dimensions
        .iter()
        .map(|path| scopes.dimension_mut(path).map_or(0, |it| it.length))
        .collect();
    let count = |lengths: &[u64]| {
        if lengths.contains(&0) {
            return Ok(0);
        }
        let product = lengths.iter().try_fold(1u64, |n, &it| n.checked_mul(it));
        product.ok_or_else(|| {
            let (what, limit) = ("the elements of a variable with data", u64::MAX);
            error(found.position, Rule::TooLarge { what, limit })
        })
    };
    let elements = count(&lengths)?;
    // The elements of what stands in braces.
    let inner = found.segments[1..]
        .iter()
        .map(|it| count(&lengths[it.dimension..]));
    let inner: Vec<u64> = inner.collect::<Result<_, _>>()?;
    let mut runs: Vec<Run> = Vec::new();
    for (number, place) in found.runs.iter().enumerate() {
        let outer = &found.outer[number * inner.len()..(number + 1) * inner.len()];
        let offset: u64 = outer
            .iter()
            .zip(&inner)
            .map(|(index, size)| index * size)
            .sum();
        let start = offset + place.start;
        match runs.last_mut() {
            Some(last)
                if last.start + last.count as u64 == start
                    && last.given + last.count == place.given =>
            {
                last.count += place.count;
            }
            _ => runs.push(Run {
                start,
                given: place.given,
                count: place.count,
            }),
        }
    }
    Ok(Data {
        path: scopes.path(found.id),
        elements,
        fill: found.fill,
        given: found.given,
        runs,
    })
}
