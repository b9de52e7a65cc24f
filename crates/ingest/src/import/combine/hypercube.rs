//! Files as the cells of a grid, by the values of their coordinates.
//!
//! ```text
//! a.nc  time 0 1   lat 10 20          time  0 1   2 3
//! b.nc  time 2 3   lat 10 20    lat 10 20  a     b
//! c.nc  time 0 1   lat 30 40    lat 30 40  c     .      missing: time 2 … 3, lat 30 … 40
//! ```
//! A dimension along which all files have the same coordinate is none of the grid.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_core::{NodePath, Session};

use super::error::CombineError;
use super::inner::by_first;
use super::joined;
use crate::ImportError;
use crate::cf::Number;
use crate::import::builder::Import;
use crate::import::coordinates::coordinates;
use crate::import::opened::Opened;
use crate::import::{labels, times};
use crate::regions::places;

/// Missing cells that a message names.
const NAMED: usize = 3;

/// A dimension of the grid.
struct HypercubeAxis {
    dimension: String,
    /// The coordinates that files have along it, in order.
    tiles: Vec<Vec<Number>>,
}

/// A file, and the tile in which it lies along each axis.
struct HypercubeCell {
    at: Vec<usize>,
    one: Opened,
}

/// Makes the files such that they lie along one dimension, and returns it: that of an append, or else the first one along which
/// they differ. Returns also the documents whose units of time they have then.
pub(super) async fn combined(
    import: &Import,
    session: &Session,
    mut opened: Vec<Opened>,
) -> Result<(Option<String>, Vec<Opened>, times::Documents), ImportError> {
    let Some(first) = opened.first() else {
        return Ok((None, opened, times::Documents::new()));
    };
    let targets = times::documents(&first.hierarchy);
    let coordinates = coordinates(&first.hierarchy);
    for one in &mut opened {
        one.convert(&targets).await?;
    }
    let mut axes = Vec::new();
    let mut cells: Vec<Vec<usize>> = vec![Vec::new(); opened.len()];
    for (dimension, path) in coordinates {
        let Some(axis) = axis(dimension, &path, &opened, &mut cells).await? else {
            continue;
        };
        axes.push(axis);
    }
    if axes.is_empty() && opened.len() > 1 {
        return Err(CombineError::NothingDiffers.into());
    }
    let mut cells: Vec<HypercubeCell> = opened
        .into_iter()
        .zip(cells)
        .map(|(one, at)| HypercubeCell { at, one })
        .collect();
    let first = import.append.as_ref();
    let place = first.and_then(|append| axes.iter().position(|it| it.dimension == *append));
    if let Some(place) = place {
        axes[..=place].rotate_right(1);
        for cell in &mut cells {
            cell.at[..=place].rotate_right(1);
        }
    }
    check_whole(&axes, &cells)?;
    let outer = match (import.append.as_ref(), place) {
        // All of them together are one piece of what is there.
        (Some(append), None) => {
            let all = nested(import, session, &axes, 0, cells).await?;
            return Ok((Some(append.clone()), vec![all], targets));
        }
        _ => axes.first().map(|axis| axis.dimension.clone()),
    };
    let outer = outer.or_else(|| import.concat.clone());
    let mut combined = Vec::new();
    for group in groups(cells, 0) {
        combined.push(nested(import, session, &axes, 1, group).await?);
    }
    Ok((outer, combined, targets))
}

/// Finds out in which tile of a dimension each file lies; `None` if all lie in one.
async fn axis(
    dimension: String,
    path: &NodePath,
    opened: &[Opened],
    cells: &mut [Vec<usize>],
) -> Result<Option<HypercubeAxis>, ImportError> {
    let mut values = Vec::new();
    for one in opened {
        let found = labels::of_source(&*one.source, &one.hierarchy, path).await?;
        values.push(found);
    }
    if values.iter().all(Option::is_none) {
        // Texts, say: they must be equal, as all that does not grow.
        return Ok(None);
    }
    let mut tiles: Vec<Vec<Number>> = Vec::new();
    let mut keys: BTreeMap<Vec<Option<i128>>, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (one, values) in opened.iter().zip(values) {
        let values = values.ok_or_else(|| CombineError::NoCoordinate {
            name: one.source.to_string(),
            dimension: dimension.clone(),
        })?;
        let key = values.iter().map(|it| labels::ordered(*it)).collect();
        let number = *keys.entry(key).or_insert_with(|| {
            tiles.push(values);
            tiles.len() - 1
        });
        found.push(number);
    }
    if tiles.len() < 2 {
        return Ok(None);
    }
    let first = |tile: &[Number]| tile.first().and_then(|it| labels::ordered(*it));
    let last = |tile: &[Number]| tile.last().and_then(|it| labels::ordered(*it));
    let falls = tiles.iter().any(|tile| last(tile) < first(tile));
    let mut order: Vec<usize> = (0..tiles.len()).collect();
    order.sort_by(|one, other| {
        let order = by_first(first(&tiles[*one]), first(&tiles[*other]));
        if falls { order.reverse() } else { order }
    });
    let mut places = vec![0; tiles.len()];
    for (place, number) in order.iter().enumerate() {
        places[*number] = place;
    }
    for (cell, number) in cells.iter_mut().zip(found) {
        cell.push(places[number]);
    }
    let tiles = order
        .into_iter()
        .map(|number| std::mem::take(&mut tiles[number]));
    Ok(Some(HypercubeAxis {
        tiles: tiles.collect(),
        dimension,
    }))
}

/// Each cell of the grid must have one file.
fn check_whole(axes: &[HypercubeAxis], cells: &[HypercubeCell]) -> Result<(), CombineError> {
    let mut found: BTreeMap<&[usize], &Opened> = BTreeMap::new();
    for cell in cells {
        if let Some(other) = found.insert(&cell.at, &cell.one) {
            return Err(CombineError::SameCell {
                one: other.source.to_string(),
                other: cell.one.source.to_string(),
            });
        }
    }
    let counts: Vec<u64> = axes.iter().map(|axis| axis.tiles.len() as u64).collect();
    let all = counts
        .iter()
        .try_fold(1_u64, |all, one| all.checked_mul(*one));
    if all == Some(cells.len() as u64) {
        return Ok(());
    }
    let missing = places(&counts).filter_map(|place| {
        let at: Vec<usize> = place.iter().map(|at| *at as usize).collect();
        let along = axes.iter().zip(&at).map(|(axis, at)| axis.said(*at));
        let is_there = found.contains_key(&at[..]);
        (!is_there).then(|| along.collect::<Vec<_>>().join(", "))
    });
    let missing: Vec<String> = missing.take(NAMED).collect();
    Err(CombineError::NoHypercube {
        cells: missing.join("; nor with "),
    })
}

impl HypercubeAxis {
    /// The text of a message about a tile.
    fn said(&self, at: usize) -> String {
        let tile = self.tiles.get(at).map(Vec::as_slice).unwrap_or_default();
        match tile {
            [] => format!("no {}", self.dimension),
            [one] => format!("{} = {one}", self.dimension),
            [first, .., last] => format!("{} = {first} … {last}", self.dimension),
        }
    }
}

/// The files by their tile along an axis, in order.
fn groups(cells: Vec<HypercubeCell>, axis: usize) -> Vec<Vec<HypercubeCell>> {
    let mut groups: BTreeMap<usize, Vec<HypercubeCell>> = BTreeMap::new();
    for cell in cells {
        let at = cell.at.get(axis).copied().unwrap_or(0);
        groups.entry(at).or_default().push(cell);
    }
    groups.into_values().collect()
}

/// Joins files along an axis, and before that along those behind it.
fn nested<'a>(
    import: &'a Import,
    session: &'a Session,
    axes: &'a [HypercubeAxis],
    axis: usize,
    mut cells: Vec<HypercubeCell>,
) -> BoxFuture<'a, Result<Opened, ImportError>> {
    async move {
        let Some(along) = axes.get(axis) else {
            let one = cells.pop().map(|cell| cell.one);
            return one.ok_or_else(|| CombineError::NothingDiffers.into());
        };
        let mut parts = Vec::new();
        for group in groups(cells, axis) {
            parts.push(nested(import, session, axes, axis + 1, group).await?);
        }
        joined::joined(import, session, &along.dimension, parts).await
    }
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_said_by_their_ends() {
        let number = |it: i128| Number::Whole(it);
        let axis = HypercubeAxis {
            dimension: "time".to_owned(),
            tiles: vec![
                vec![number(1), number(2), number(5)],
                vec![number(7)],
                vec![],
            ],
        };
        let said: Vec<String> = (0..3).map(|at| axis.said(at)).collect();
        assert_eq!(said, ["time = 1 … 5", "time = 7", "no time"]);
    }
}
