//! Ticks of axes, and the ways that axes point.

use icefield::ingest::SliceAxis;

use super::numbers::{round_numbers, short};
use crate::output::escape::printable;

/// A mark at an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// The place in cells from the first one's outer edge: the middle of the first cell is 0.5.
    pub(super) place: f64,
    pub(super) label: String,
}

/// Returns about `most` ticks of an axis, in the order of its cells.
pub(super) fn ticks(axis: &SliceAxis, most: usize) -> Vec<Tick> {
    let Some(coordinate) = &axis.coordinate else {
        return index_ticks(axis, most);
    };
    let (values, times) = (&coordinate.values, &coordinate.times);
    if times.is_empty() && is_monotonic(values) && values.len() > 1 {
        return value_ticks(values, most);
    }
    let step = axis.count.div_ceil(most.max(1)).max(1);
    let chosen = (0..axis.count).step_by(step);
    chosen
        .map(|at| Tick {
            place: at as f64 + 0.5,
            label: match times.get(at) {
                Some(time) => printable(time).into_owned(),
                None => values
                    .get(at)
                    .map(|value| short(*value))
                    .unwrap_or_default(),
            },
        })
        .collect()
}

/// Ticks at round values, between the cells of whose values they lie.
fn value_ticks(values: &[f64], most: usize) -> Vec<Tick> {
    let rises = values[0] < values[values.len() - 1];
    let (low, high) = match rises {
        true => (values[0], values[values.len() - 1]),
        false => (values[values.len() - 1], values[0]),
    };
    let place = |wanted: f64| {
        let after = values.partition_point(|value| (*value < wanted) == rises && *value != wanted);
        let after = after.clamp(1, values.len() - 1);
        let (one, other) = (values[after - 1], values[after]);
        after as f64 - 0.5 + ((wanted - one) / (other - one)).clamp(0.0, 1.0)
    };
    let numbers = round_numbers(low, high, most).into_iter();
    let mut ticks: Vec<Tick> = numbers
        .map(|(number, label)| Tick {
            place: place(number),
            label,
        })
        .collect();
    if !rises {
        ticks.reverse();
    }
    ticks
}

/// Ticks at round indices.
fn index_ticks(axis: &SliceAxis, most: usize) -> Vec<Tick> {
    let step = axis.step.max(1) as f64;
    let last = (axis.count.saturating_sub(1)) as f64 * step;
    let numbers = round_numbers(0.0, last, most).into_iter();
    numbers
        .filter(|(number, _)| number.fract() == 0.0)
        .map(|(number, _)| Tick {
            place: number / step + 0.5,
            label: format!("{number}"),
        })
        .collect()
}

/// Returns whether each cell has a lesser value than the one before. Longitudes that begin again at -180 do not fall.
pub(super) fn falls(axis: &SliceAxis) -> bool {
    let values = axis.coordinate.as_ref().map(|it| it.values.as_slice());
    values.is_some_and(|it| it.len() > 1 && it.is_sorted_by(|one, other| one > other))
}

/// Returns whether the first cell is the lowest one, if the axis is upright.
pub(super) fn begins_below(axis: &SliceAxis) -> bool {
    let is_downward = axis.coordinate.as_ref().is_some_and(|it| it.is_downward);
    falls(axis) == is_downward
}

/// Returns the name of an axis with its units. Units of times say nothing beside dates.
pub(super) fn name(axis: &SliceAxis) -> String {
    let coordinate = axis.coordinate.as_ref().filter(|it| it.times.is_empty());
    let units = coordinate.and_then(|it| it.units.as_deref());
    let name = match axis.name.parse::<u64>() {
        Ok(_) => format!("dimension {}", axis.name),
        Err(_) => axis.name.clone(),
    };
    let text = match units {
        Some(units) => format!("{name} ({units})"),
        None => name,
    };
    printable(&text).into_owned()
}

/// Returns the labels of the first and the last cell.
pub(super) fn ends(axis: &SliceAxis) -> [String; 2] {
    let last = axis.count.saturating_sub(1);
    [0, last].map(|at| match &axis.coordinate {
        None => (at as u64 * axis.step).to_string(),
        Some(coordinate) => match coordinate.times.get(at) {
            Some(time) => printable(time).into_owned(),
            None => coordinate
                .values
                .get(at)
                .map(|it| short(*it))
                .unwrap_or_default(),
        },
    })
}

fn is_monotonic(values: &[f64]) -> bool {
    values.is_sorted_by(|one, other| one < other) || values.is_sorted_by(|one, other| one > other)
}

#[cfg(test)]
mod tests {
    use icefield::ingest::SliceCoordinate;

    use super::*;

    fn axis(values: &[f64], times: &[&str]) -> SliceAxis {
        SliceAxis {
            name: "a".to_owned(),
            length: values.len() as u64,
            step: 1,
            count: values.len(),
            coordinate: Some(SliceCoordinate {
                values: values.to_vec(),
                times: times.iter().map(|it| (*it).to_owned()).collect(),
                units: Some("m".to_owned()),
                is_downward: false,
            }),
        }
    }

    fn found(axis: &SliceAxis, most: usize) -> Vec<(f64, String)> {
        let ticks = ticks(axis, most).into_iter();
        ticks.map(|tick| (tick.place, tick.label)).collect()
    }

    #[test]
    fn only_axes_whose_values_all_fall_are_turned() {
        let falls = |values: &[f64]| falls(&axis(values, &[]));
        assert!(falls(&[3.0, 2.0, -1.0]));
        for values in [
            &[1.0, 2.0, 3.0][..],
            // From 20 degrees east around the globe.
            &[20.0, 100.0, 180.0, -179.0, 19.0],
            &[3.0, 3.0, 1.0],
            &[3.0, f64::NAN, 1.0],
            &[3.0],
            &[],
        ] {
            assert!(!falls(values), "{values:?}");
        }
    }

    #[test]
    fn ticks_lie_at_round_values_between_cells() {
        let even = axis(&[-15.0, -5.0, 5.0, 15.0], &[]);
        let expected = [(1.0, "-10"), (2.0, "0"), (3.0, "10")].map(|(at, it)| (at, it.to_owned()));
        assert_eq!(found(&even, 4), expected);
        let falling = axis(&[15.0, 5.0, -5.0, -15.0], &[]);
        let expected = [(1.0, "10"), (2.0, "0"), (3.0, "-10")].map(|(at, it)| (at, it.to_owned()));
        assert_eq!(found(&falling, 4), expected);
        // Of uneven cells, each has its own width in values.
        let uneven = axis(&[0.0, 10.0, 100.0], &[]);
        assert_eq!(
            found(&uneven, 2),
            [
                (0.5, "0".to_owned()),
                (1.5 + 40.0 / 90.0, "50".to_owned()),
                (2.5, "100".to_owned())
            ]
        );
    }

    #[test]
    fn times_and_unordered_values_are_labels_of_cells() {
        let times = axis(&[0.0, 1.0, 2.0], &["2015-01", "2015-02", "2015-03"]);
        assert_eq!(
            found(&times, 2),
            [(0.5, "2015-01".to_owned()), (2.5, "2015-03".to_owned())]
        );
        let unordered = axis(&[3.0, 1.0, 2.0], &[]);
        assert_eq!(found(&unordered, 3).len(), 3);
        let missing = axis(&[1.0, f64::NAN, 2.0], &[]);
        assert_eq!(found(&missing, 1), [(0.5, "1".to_owned())]);
    }

    #[test]
    fn axes_without_coordinates_have_indices() {
        let plain = SliceAxis {
            name: "0".to_owned(),
            length: 30,
            step: 3,
            count: 10,
            coordinate: None,
        };
        assert_eq!(
            found(&plain, 3),
            [
                (0.5, "0".to_owned()),
                (0.5 + 10.0 / 3.0, "10".to_owned()),
                (0.5 + 20.0 / 3.0, "20".to_owned())
            ]
        );
        assert_eq!(name(&plain), "dimension 0");
        assert_eq!(ends(&plain), ["0", "27"]);
    }

    #[test]
    fn values_grow_upwards_and_depths_downwards() {
        let mut rising = axis(&[0.0, 1.0], &[]);
        assert!(begins_below(&rising) && !falls(&rising));
        let mut falling = axis(&[1.0, 0.0], &[]);
        assert!(!begins_below(&falling) && falls(&falling));
        for axis in [&mut rising, &mut falling] {
            axis.coordinate.as_mut().expect("one").is_downward = true;
        }
        assert!(!begins_below(&rising) && begins_below(&falling));
    }
}
