//! Labels: the coordinates along a moving dimension, and how they go on.

mod cells;
mod numbers;

use icefield_core::{NodePath, Session};
use icefield_zarr_store::Elements;
use serde_json::Value;

use crate::blocks::{Block, Blocks};
use crate::change::seconds_of;
use crate::dimension::{Dimension, Member};
use crate::{Duration, RollingError};
use numbers::{continued, orders};

pub(crate) use cells::Cells;
pub(crate) use numbers::{NumberKind, Numbers};

/// An array of one dimension that says what the elements of a dimension are called.
pub(crate) struct Axis<'a> {
    pub(crate) member: &'a Member,
    kind: NumberKind,
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
            && let Some(kind) = NumberKind::of(&member.json)
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
    seconds_of_type(member.json.get("data_type")?)
}

/// The seconds of the unit of a type of moments.
pub(crate) fn seconds_of_type(data_type: &Value) -> Option<f64> {
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
            Numbers::Float(all) => all.iter().all(|it| it.to_bits() == all[0].to_bits()),
        };
        // One element alone says nothing of what the next one is called.
        labels.len() > 1 && is_one && self.member.text_attribute("units").is_none()
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

    /// Takes the labels of the first `masked` elements away.
    pub(crate) fn mask(&self, block: &mut Block, masked: u64) -> Result<(), RollingError> {
        if masked == 0 {
            return Ok(());
        }
        let none = match self.kind {
            NumberKind::Float(_) => Some(Numbers::Float(vec![f64::NAN])),
            NumberKind::Time => Some(Numbers::Whole(vec![i128::from(i64::MIN)])),
            // The value that readers such as xarray take for none.
            _ => {
                let fill = self.member.attribute("_FillValue");
                let fill = fill.and_then(Value::as_i64).map(i128::from);
                fill.map(|fill| Numbers::Whole(vec![fill]))
            }
        };
        let none = none.and_then(|none| self.kind.write(&none));
        let none = none.ok_or_else(|| RollingError::NoMask {
            path: self.member.path.clone(),
        })?;
        if let Elements::Fixed(all) = &mut block.elements {
            let masked = usize::try_from(masked).unwrap_or(usize::MAX);
            for label in all.chunks_exact_mut(none.len()).take(masked) {
                label.copy_from_slice(&none);
            }
        }
        Ok(())
    }

    fn of_floats(&self, given: &[f64]) -> Option<Numbers> {
        if matches!(self.kind, NumberKind::Float(_)) {
            return Some(Numbers::Float(given.to_vec()));
        }
        let whole = given
            .iter()
            .map(|it| (it.fract() == 0.0).then_some(*it as i128));
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
        if let (NumberKind::Time, Numbers::Whole(all)) = (self.kind, labels)
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

    /// Whether it counts from a moment, in whatever unit.
    pub(crate) fn is_since(&self) -> bool {
        let units = self.member.text_attribute("units");
        self.is_time() || units.is_some_and(|units| units.contains(" since "))
    }
}

/// The name that a coordinate's attribute `bounds` gives, as a path beside it.
pub(crate) fn bounds_of(member: &Member) -> Option<NodePath> {
    let name = member.text_attribute("bounds")?;
    member.path.parent()?.join(name).ok()
}

/// The bounds of a coordinate, if they have the dimension first and two numbers for each element.
pub(crate) fn bounds_of_axis<'a>(dimension: &'a Dimension, axis: &Axis<'_>) -> Option<&'a Member> {
    let path = bounds_of(axis.member)?;
    let bounds = dimension
        .members
        .iter()
        .find(|member| member.path == path)?;
    (bounds.axis == 0 && matches!(bounds.array.shape[..], [_, 2])).then_some(bounds)
}

/// The numbers of an array that was read; `None` if it has none.
pub(crate) fn numbers_of(member: &Member, block: &Block) -> Option<Numbers> {
    match &block.elements {
        Elements::Fixed(bytes) => NumberKind::of(&member.json).map(|kind| kind.read(bytes)),
        Elements::Variable(_) => None,
    }
}
