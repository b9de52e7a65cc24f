//! Labels: the coordinates along a moving dimension, and how they go on.

use icefield_core::{NodePath, Session};
use icefield_zarr_store::Elements;
use serde_json::Value;

use crate::blocks::{Block, Blocks};
use crate::change::seconds_of;
use crate::dimension::{Dimension, Member};
use crate::{Duration, RollingError};

/// Numbers of one array, exact for whole ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    Whole(Vec<i128>),
    Float(Vec<f64>),
}

/// How an element is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    /// Whole, and the least number is "not a time".
    Time,
}

impl Kind {
    fn of(member: &Member) -> Option<Self> {
        let data_type = member.json.get("data_type")?;
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

    fn width(self) -> usize {
        match self {
            Self::Signed(width) | Self::Unsigned(width) | Self::Float(width) => width,
            Self::Time => 8,
        }
    }

    fn read(self, bytes: &[u8]) -> Numbers {
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
    fn write(self, numbers: &Numbers) -> Option<Vec<u8>> {
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
    fn len(&self) -> usize {
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

    /// The step of a regular axis; of one that rises or falls by another step each time, `None`.
    fn step(&self) -> Option<Step> {
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
                // What rounding does to a regular axis, about.
                let close = |pair: &[f64]| ((pair[1] - pair[0]) - step).abs() <= step.abs() * 1e-6;
                let is_regular = all.len() > 1 && all.windows(2).all(close);
                (is_regular && step.is_finite() && step != 0.0).then_some(Step::Float(step))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Whole(i128),
    Float(f64),
}

/// An array of one dimension that says what the elements of a dimension are called.
pub(crate) struct Axis<'a> {
    pub(crate) member: &'a Member,
    kind: Kind,
    /// Whether it has the name of the dimension, as the labels that programs select by.
    is_index: bool,
}

/// The labels of a dimension, the first one that which programs select by.
pub(crate) fn axes(dimension: &Dimension) -> Vec<Axis<'_>> {
    let mut axes: Vec<Axis<'_>> = Vec::new();
    for member in &dimension.members {
        let name = member.path.name();
        let is_index = name == dimension.name;
        let is_time = time_unit(member).is_some();
        if member.array.rank() == 1
            && (is_index || is_time)
            && let Some(kind) = Kind::of(member)
        {
            axes.push(Axis {
                member,
                kind,
                is_index,
            });
        }
    }
    axes.sort_by_key(|axis| !axis.is_index);
    axes
}

/// The seconds of the unit of a coordinate of time, `None` of anything else.
fn time_unit(member: &Member) -> Option<f64> {
    if let Some(units) = member.text_attribute("units")
        && let Some((unit, _)) = units.split_once(" since ")
    {
        return seconds_of(unit);
    }
    let data_type = member.json.get("data_type")?;
    if data_type.get("name")?.as_str()? != "numpy.datetime64" {
        return None;
    }
    let configuration = data_type.get("configuration")?;
    let factor = configuration
        .get("scale_factor")
        .and_then(Value::as_f64)
        .unwrap_or(1.0);
    let unit = configuration.get("unit")?.as_str()?;
    let unit = match unit {
        "D" => "days",
        "W" => "weeks",
        "m" => "minutes",
        "us" => "microseconds",
        other => other,
    };
    Some(seconds_of(unit)? * factor)
}

impl Axis<'_> {
    pub(crate) fn numbers(&self, block: &Block) -> Numbers {
        match &block.elements {
            Elements::Fixed(bytes) => self.kind.read(bytes),
            Elements::Variable(_) => Numbers::Float(Vec::new()),
        }
    }

    /// Those of a block, but for the first `hidden`.
    pub(crate) fn shown(&self, block: &Block, hidden: u64) -> Numbers {
        let hidden = usize::try_from(hidden).unwrap_or(usize::MAX);
        match self.numbers(block) {
            Numbers::Whole(all) => Numbers::Whole(all.get(hidden..).unwrap_or_default().to_vec()),
            Numbers::Float(all) => Numbers::Float(all.get(hidden..).unwrap_or_default().to_vec()),
        }
    }

    pub(crate) async fn read(&self, session: &Session) -> Result<Numbers, RollingError> {
        let blocks = Blocks::of(self.member)?;
        let all = blocks.read_all(session, &self.member.array).await?;
        Ok(self.numbers(&all))
    }

    /// Whether all labels are one number and have no units: a place holder, as ocean models write it.
    fn is_placeholder(&self, labels: &Numbers) -> bool {
        let is_one = match labels {
            Numbers::Whole(all) => all.iter().all(|it| *it == all[0]),
            Numbers::Float(all) => all.iter().all(|it| *it == all[0] || it.is_nan()),
        };
        is_one && self.member.text_attribute("units").is_none()
    }

    /// Puts labels at the elements `at` of a block, given or going on from `before`, which were there, behind them or, with
    /// `at_start`, before them.
    pub(crate) fn go_on(
        &self,
        block: &mut Block,
        before: &Numbers,
        at: std::ops::Range<u64>,
        at_start: bool,
        given: Option<&[f64]>,
    ) -> Result<(), RollingError> {
        let count = at.end - at.start;
        let needed = |reason| RollingError::LabelsNeeded {
            path: self.member.path.clone(),
            count,
            reason,
        };
        let new = match given {
            Some(given) => self
                .of_floats(given)
                .ok_or_else(|| needed("its type cannot hold those that are given"))?,
            None if before.len() > 0 && self.is_placeholder(before) => match before {
                Numbers::Whole(all) => Numbers::Whole(vec![all[0]; count as usize]),
                Numbers::Float(all) => Numbers::Float(vec![all[0]; count as usize]),
            },
            None => {
                let step = before
                    .step()
                    .ok_or_else(|| needed("the others are not regular"))?;
                continued(before, step, at_start, count)
                    .ok_or_else(|| needed("they would be too large"))?
            }
        };
        let bytes = self
            .kind
            .write(&new)
            .ok_or_else(|| needed("its type cannot hold them"))?;
        if let Elements::Fixed(all) = &mut block.elements {
            let start = at.start as usize * self.kind.width();
            all[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn of_floats(&self, given: &[f64]) -> Option<Numbers> {
        if matches!(self.kind, Kind::Float(_)) {
            return Some(Numbers::Float(given.to_vec()));
        }
        let whole = given
            .iter()
            .map(|it| (it.fract() == 0.0 && it.abs() < 1e18).then_some(*it as i128));
        whole.collect::<Option<Vec<i128>>>().map(Numbers::Whole)
    }

    /// Checks that labels name each element once and in order, the first `hidden` ones apart.
    pub(crate) fn check(&self, labels: &Numbers, hidden: u64) -> Result<(), RollingError> {
        let problem = |problem: String| RollingError::Labels {
            path: self.member.path.clone(),
            problem,
        };
        let hidden = usize::try_from(hidden)
            .unwrap_or(usize::MAX)
            .min(labels.len());
        if labels.len() == 0 || self.is_placeholder(labels) {
            return Ok(());
        }
        if let Numbers::Float(all) = labels
            && let Some(at) = all[hidden..].iter().position(|it| !it.is_finite())
        {
            return Err(problem(format!("element {} has none", hidden + at)));
        }
        if let (Kind::Time, Numbers::Whole(all)) = (self.kind, labels)
            && let Some(at) = all[hidden..]
                .iter()
                .position(|it| *it == i128::from(i64::MIN))
        {
            return Err(problem(format!("element {} has none", hidden + at)));
        }
        let orders = match labels {
            Numbers::Whole(all) => orders(&all[hidden..], |a, b| a.cmp(b)),
            Numbers::Float(all) => orders(&all[hidden..], f64::total_cmp),
        };
        match orders {
            None => Ok(()),
            Some(at) => Err(problem(format!(
                "element {} does not follow the one before it",
                hidden + at
            ))),
        }
    }

    /// How many elements lie less than a span from the last one, or from the first one.
    pub(crate) fn count_within(
        &self,
        labels: &Numbers,
        span: Duration,
        from_last: bool,
    ) -> Option<u64> {
        let unit = time_unit(self.member)?;
        let labels = labels.as_floats();
        let edge = *match from_last {
            true => labels.last(),
            false => labels.first(),
        }?;
        let is_within = |label: &&f64| (*label - edge).abs() * unit < span.0;
        Some(labels.iter().filter(is_within).count() as u64)
    }

    pub(crate) fn is_time(&self) -> bool {
        time_unit(self.member).is_some()
    }
}

/// The first element that does not go the way of the first two, or stands still.
fn orders<T>(all: &[T], compare: impl Fn(&T, &T) -> std::cmp::Ordering) -> Option<usize> {
    let way = compare(all.first()?, all.get(1)?);
    if way.is_eq() {
        return Some(1);
    }
    (1..all.len()).find(|at| compare(&all[at - 1], &all[*at]) != way)
}

/// Labels that go on behind others, or before them.
fn continued(before: &Numbers, step: Step, at_start: bool, count: u64) -> Option<Numbers> {
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

/// The cells of an axis as they were: for each label two numbers.
pub(crate) struct Cells {
    kind: Kind,
    /// How far the two lie from their label, the same for all.
    offsets: (f64, f64),
}

impl Cells {
    /// Of bounds that lie as far from their label everywhere, but for the first `hidden`.
    pub(crate) fn of(bounds: &Member, block: &Block, labels: &[f64], hidden: u64) -> Option<Self> {
        let kind = Kind::of(bounds)?;
        let ([_, 2], Elements::Fixed(bytes)) = (&block.shape[..], &block.elements) else {
            return None;
        };
        let all = kind.read(bytes).as_floats();
        let pairs = all.chunks_exact(2).zip(labels);
        let offsets = pairs.map(|(pair, label)| (pair[0] - label, pair[1] - label));
        let mut offsets = offsets.skip(usize::try_from(hidden).ok()?);
        let (low, high) = offsets.next()?;
        let is_close = |a: f64, b: f64| (a - b).abs() <= (high - low).abs() * 1e-6;
        let is_even = offsets.all(|(a, b)| is_close(a, low) && is_close(b, high));
        is_even.then_some(Self {
            kind,
            offsets: (low, high),
        })
    }

    /// Puts the bounds of some labels into a block; `None` if its type cannot hold them.
    pub(crate) fn put(
        &self,
        block: &mut Block,
        labels: &[f64],
        new: std::ops::Range<u64>,
    ) -> Option<()> {
        let Elements::Fixed(bytes) = &mut block.elements else {
            return None;
        };
        for at in new {
            let label = *labels.get(usize::try_from(at).ok()?)?;
            for (place, value) in [
                (2 * at, label + self.offsets.0),
                (2 * at + 1, label + self.offsets.1),
            ] {
                let number = match self.kind {
                    Kind::Float(_) => Numbers::Float(vec![value]),
                    _ if value.fract() == 0.0 => Numbers::Whole(vec![value as i128]),
                    _ => return None,
                };
                let number = self.kind.write(&number)?;
                let start = place as usize * self.kind.width();
                bytes
                    .get_mut(start..start + number.len())?
                    .copy_from_slice(&number);
            }
        }
        Some(())
    }
}

/// The name that a coordinate's attribute `bounds` gives, as a path beside it.
pub(crate) fn bounds_of(member: &Member) -> Option<NodePath> {
    let name = member.text_attribute("bounds")?;
    member.path.parent()?.join(name).ok()
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
        for kind in [Kind::Signed(1), Kind::Signed(4), Kind::Time] {
            let numbers = Numbers::Whole(vec![-128, 0, 127]);
            let bytes = kind.write(&numbers).expect("they fit");
            assert_eq!(kind.read(&bytes), numbers);
        }
        assert_eq!(
            Kind::Unsigned(2).read(&[0xff, 0xff]),
            Numbers::Whole(vec![65_535])
        );
        assert_eq!(Kind::Unsigned(1).write(&Numbers::Whole(vec![-1])), None);
        assert_eq!(Kind::Signed(1).write(&Numbers::Whole(vec![128])), None);
        let float = Numbers::Float(vec![0.5, -2.0]);
        assert_eq!(
            Kind::Float(4).read(&Kind::Float(4).write(&float).expect("they fit")),
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
