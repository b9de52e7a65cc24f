//! The dimension along which arrays grow.

use std::ops::Range;

use icefield_core::{ArrayMetadata, NodePath};

use crate::PlanError;

/// The dimension along which arrays grow, and which elements of the source are put there.
#[derive(Clone, Debug)]
pub(crate) struct Along<'a> {
    pub(crate) dimension: &'a str,
    /// The elements that are kept, and of how many; `None` for all.
    pub(crate) kept: Option<(Range<u64>, u64)>,
}

impl<'a> Along<'a> {
    /// All elements along a dimension.
    #[cfg(test)]
    pub(crate) fn all(dimension: &'a str) -> Self {
        Self {
            dimension,
            kept: None,
        }
    }

    /// Returns the axis of the dimension, `None` if the array does not have it.
    pub(crate) fn axis(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> Result<Option<usize>, PlanError> {
        let names = array.dimension_names.as_deref().unwrap_or_default();
        let is_it = |axis: &usize| names[*axis].as_deref() == Some(self.dimension);
        let mut axes = (0..names.len()).filter(is_it);
        let axis = axes.next();
        match axes.next() {
            None => Ok(axis),
            Some(_) => Err(PlanError::DimensionTwice {
                path: path.clone(),
                dimension: self.dimension.to_owned(),
            }),
        }
    }

    /// Returns the elements of an array that are kept.
    pub(super) fn kept_of(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        axis: usize,
    ) -> Result<Range<u64>, PlanError> {
        let length = array.shape[axis];
        match &self.kept {
            None => Ok(0..length),
            Some((kept, of)) if *of == length => Ok(kept.clone()),
            Some((_, of)) => Err(PlanError::LengthDiffers {
                path: path.clone(),
                dimension: self.dimension.to_owned(),
                length,
                labels: *of,
            }),
        }
    }
}

/// Returns the only dimension of an array that has its name: each reader that opens the dataset reads it.
pub(crate) fn coordinate<'a>(path: &NodePath, array: &'a ArrayMetadata) -> Option<&'a str> {
    let [Some(name)] = array.dimension_names.as_deref()? else {
        return None;
    };
    let own = path.as_str().rsplit('/').next();
    (own == Some(name)).then_some(name)
}

/// Returns the length of an array along a dimension.
pub(crate) fn length_of(array: &ArrayMetadata, dimension: &str) -> Option<u64> {
    let mut names = array.dimension_names.as_deref()?.iter();
    let axis = names.position(|name| name.as_deref() == Some(dimension))?;
    array.shape.get(axis).copied()
}
