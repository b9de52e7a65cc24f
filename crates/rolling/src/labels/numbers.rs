//! The numbers of an array of labels, exact for whole ones: how they are stored, their step and their order.

use serde_json::Value;

/// Numbers of one array, exact for whole ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    Whole(Vec<i128>),
    Float(Vec<f64>),
}

/// How an element is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NumberKind {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    /// Whole, and the least number is "not a time".
    Time,
}

impl NumberKind {
    pub(crate) fn of(json: &Value) -> Option<Self> {
        let data_type = json.get("data_type")?;
        let name = data_type
            .as_str()
            .or_else(|| data_type.get("name")?.as_str())?;
        Some(match name {
            "int8" => Self::Signed(1),
            "int16" => Self::Signed(2),
            "int32" => Self::Signed(4),
            "int64" => Self::Signed(8),
            "uint8" => Self::Unsigned(1),
            "uint16" => Self::Unsigned(2),
            "uint32" => Self::Unsigned(4),
            "uint64" => Self::Unsigned(8),
            "float32" => Self::Float(4),
            "float64" => Self::Float(8),
            "numpy.datetime64" => Self::Time,
            _ => return None,
        })
    }

    pub(super) fn width(self) -> usize {
        match self {
            Self::Signed(width) | Self::Unsigned(width) | Self::Float(width) => width,
            Self::Time => 8,
        }
    }

    pub(crate) fn read(self, bytes: &[u8]) -> Numbers {
        let elements = bytes.chunks_exact(self.width());
        let padded = |element: &[u8], fill: u8| {
            let mut all = [fill; 16];
            all[..element.len()].copy_from_slice(element);
            i128::from_le_bytes(all)
        };
        match self {
            Self::Unsigned(_) => Numbers::Whole(elements.map(|it| padded(it, 0)).collect()),
            Self::Signed(_) | Self::Time => {
                let sign = |it: &[u8]| match it.last() {
                    Some(last) if last & 0x80 != 0 => 0xff,
                    _ => 0,
                };
                Numbers::Whole(elements.map(|it| padded(it, sign(it))).collect())
            }
            Self::Float(4) => {
                let (floats, _) = bytes.as_chunks::<4>();
                Numbers::Float(
                    floats
                        .iter()
                        .map(|it| f64::from(f32::from_le_bytes(*it)))
                        .collect(),
                )
            }
            Self::Float(_) => {
                let (floats, _) = bytes.as_chunks::<8>();
                Numbers::Float(floats.iter().map(|it| f64::from_le_bytes(*it)).collect())
            }
        }
    }

    /// The bytes of a number; `None` if the type cannot hold it.
    pub(crate) fn write(self, numbers: &Numbers) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match (self, numbers) {
            (Self::Float(4), Numbers::Float(floats)) => {
                bytes.extend(floats.iter().flat_map(|it| (*it as f32).to_le_bytes()));
            }
            (Self::Float(_), Numbers::Float(floats)) => {
                bytes.extend(floats.iter().flat_map(|it| it.to_le_bytes()));
            }
            (kind, Numbers::Whole(whole)) => {
                let bits = kind.width() as u32 * 8;
                let range = match kind {
                    Self::Unsigned(_) => 0..=(1_i128 << bits) - 1,
                    _ => -(1_i128 << (bits - 1))..=(1_i128 << (bits - 1)) - 1,
                };
                for number in whole {
                    if !range.contains(number) {
                        return None;
                    }
                    bytes.extend_from_slice(&number.to_le_bytes()[..kind.width()]);
                }
            }
            _ => return None,
        }
        Some(bytes)
    }
}

impl Numbers {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(all) => all.len(),
            Self::Float(all) => all.len(),
        }
    }

    pub(crate) fn as_floats(&self) -> Vec<f64> {
        match self {
            Self::Whole(all) => all.iter().map(|it| *it as f64).collect(),
            Self::Float(all) => all.clone(),
        }
    }

    pub(crate) fn as_float(&self, at: usize) -> Option<f64> {
        match self {
            Self::Whole(all) => all.get(at).map(|it| *it as f64),
            Self::Float(all) => all.get(at).copied(),
        }
    }

    pub(crate) fn is_regular(&self) -> bool {
        self.step().is_some()
    }

    /// The step of a regular axis; of one that rises or falls by another step each time, `None`.
    pub(super) fn step(&self) -> Option<Step> {
        match self {
            Self::Whole(all) => {
                let step = all.get(1)?.checked_sub(all[0])?;
                let is_regular = all
                    .windows(2)
                    .all(|pair| pair[1].checked_sub(pair[0]) == Some(step));
                (is_regular && step != 0).then_some(Step::Whole(step))
            }
            Self::Float(all) => {
                let (first, last) = (all.first()?, all.last()?);
                let step = (last - first) / (all.len().checked_sub(1)? as f64);
                // About as far as rounding moves a regular axis.
                let close = |pair: &[f64]| ((pair[1] - pair[0]) - step).abs() <= step.abs() * 1e-6;
                let is_regular = all.len() > 1 && all.windows(2).all(close);
                (is_regular && step.is_finite() && step != 0.0).then_some(Step::Float(step))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Whole(i128),
    Float(f64),
}

/// The first element that does not go the way of the first two, or stands still.
pub(super) fn orders<T>(
    all: &[T],
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Option<usize> {
    let way = compare(all.first()?, all.get(1)?);
    if way.is_eq() {
        return Some(1);
    }
    (1..all.len()).find(|at| compare(&all[at - 1], &all[*at]) != way)
}

/// Labels that go on behind others, or before them.
pub(super) fn continued(
    before: &Numbers,
    step: Step,
    at_start: bool,
    count: u64,
) -> Option<Numbers> {
    let offsets = 1..=i128::from(count);
    Some(match (before, step) {
        (Numbers::Whole(all), Step::Whole(step)) => {
            let new = offsets.map(|n| match at_start {
                true => all
                    .first()?
                    .checked_sub(step.checked_mul(i128::from(count) + 1 - n)?),
                false => all.last()?.checked_add(step.checked_mul(n)?),
            });
            Numbers::Whole(new.collect::<Option<_>>()?)
        }
        (Numbers::Float(all), Step::Float(step)) => {
            let new = offsets.map(|n| match at_start {
                true => Some(all.first()? - step * (i128::from(count) + 1 - n) as f64),
                false => Some(all.last()? + step * n as f64),
            });
            Numbers::Float(new.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_axes_go_on_in_both_directions() {
        let whole = Numbers::Whole(vec![3, 6, 9]);
        let step = whole.step().expect("regular");
        assert_eq!(
            continued(&whole, step, false, 2),
            Some(Numbers::Whole(vec![12, 15]))
        );
        assert_eq!(
            continued(&whole, step, true, 2),
            Some(Numbers::Whole(vec![-3, 0]))
        );
        let float = Numbers::Float(vec![1.0, 0.5]);
        let step = float.step().expect("regular");
        assert_eq!(
            continued(&float, step, false, 1),
            Some(Numbers::Float(vec![0.0]))
        );
        for odd in [vec![1, 2, 4], vec![1], vec![2, 2], vec![]] {
            assert_eq!(Numbers::Whole(odd).step(), None);
        }
        assert_eq!(Numbers::Float(vec![1.0, f64::NAN, 3.0]).step(), None);
    }

    #[test]
    fn numbers_of_every_width_come_back() {
        for kind in [
            NumberKind::Signed(1),
            NumberKind::Signed(4),
            NumberKind::Time,
        ] {
            let numbers = Numbers::Whole(vec![-128, 0, 127]);
            let bytes = kind.write(&numbers).expect("they fit");
            assert_eq!(kind.read(&bytes), numbers);
        }
        assert_eq!(
            NumberKind::Unsigned(2).read(&[0xff, 0xff]),
            Numbers::Whole(vec![65_535])
        );
        assert_eq!(
            NumberKind::Unsigned(1).write(&Numbers::Whole(vec![-1])),
            None
        );
        assert_eq!(
            NumberKind::Signed(1).write(&Numbers::Whole(vec![128])),
            None
        );
        let float = Numbers::Float(vec![0.5, -2.0]);
        assert_eq!(
            NumberKind::Float(4).read(&NumberKind::Float(4).write(&float).expect("they fit")),
            float
        );
    }

    #[test]
    fn disorder_is_found() {
        let at = |all: &[i32]| orders(all, i32::cmp);
        assert_eq!(at(&[1, 2, 5]), None);
        assert_eq!(at(&[5, 2, 1]), None);
        assert_eq!(at(&[5]), None);
        assert_eq!(at(&[1, 2, 2]), Some(2));
        assert_eq!(at(&[1, 2, 1]), Some(2));
        assert_eq!(at(&[1, 1]), Some(1));
    }
}
