//! Sources in the order in which they are put behind one another, by the values of the coordinate: what of each is kept,
//! where there are gaps, and where they overlap.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use icefield_core::{NodePath, Session};
use serde_json::Value;

use super::labels::{self, Label, Line, Tail, float, follow, ordered};
use super::monotonic;
use super::opened::Opened;
use super::times::{self, Documents};
use crate::cf::{Conversion, Number, NumberType, TimeError, TimeUnits, moment};
use crate::chunk_layout::of_another_type;
use crate::numbers::NumberDecoder;
use crate::{Gap, ImportError, Order, Overlap, SourceError};

/// A step between two sources is a gap if it is longer than so many times what is usual.
const GAP: f64 = 1.5;

/// Puts sources in order.
pub(super) async fn order(
    opened: &mut Vec<Opened>,
    dimension: &str,
    order: Order,
) -> Result<(), ImportError> {
    match order {
        Order::Given => return Ok(()),
        Order::Name => {
            opened.sort_by_key(|it| it.source.to_string());
            return Ok(());
        }
        Order::Coordinate => {}
    }
    let mut keyed = Vec::new();
    let mut way = Ordering::Greater;
    for one in std::mem::take(opened) {
        let refused = |reason: String| SourceError::Variable {
            name: one.source.to_string(),
            path: NodePath::root(),
            reason,
        };
        let label = one.coordinate(dimension);
        let label = label.ok_or_else(|| {
            refused(format!(
                "it has no coordinate of {dimension:?} to put files in order by"
            ))
        })?;
        let values = one.values(&label.path).await?;
        let values = values
            .ok_or_else(|| refused(format!("its coordinate {} cannot be decoded", label.path)))?;
        let documents = times::documents(&one.hierarchy);
        let units = times::units(&documents, &label.path).and_then(Result::ok);
        let values = match &units {
            Some(_) => values,
            None => unpacked(documents.get(&label.path), &values),
        };
        let line = Line::new(&values);
        if let Tail::Run(_, other) = line.tail {
            way = other;
        }
        let key = line.first.and_then(|first| match &units {
            Some(units) => moment(first, units),
            None => ordered(first),
        });
        keyed.push((key, one));
    }
    keyed.sort_by(|(one, _), (other, _)| match way {
        Ordering::Less => other.cmp(one),
        _ => one.cmp(other),
    });
    opened.extend(keyed.into_iter().map(|(_, one)| one));
    Ok(())
}

/// Returns numbers as readers decode them, of whatever type, so that those of sources compare.
fn unpacked(document: Option<&Value>, values: &[Number]) -> Vec<Number> {
    let decoder = document.and_then(|it| NumberDecoder::new(it).ok());
    let (scale, offset) = decoder.map_or((None, None), |it| it.packing());
    let decoded = values
        .iter()
        .map(|it| float(*it) * scale.unwrap_or(1.0) + offset.unwrap_or(0.0));
    decoded.map(Number::Float).collect()
}

/// Returns the documents of the first source with other units of its coordinate and of the bounds of that. The type of the
/// numbers stays if it has all values of all sources, else it is `int64`, else `float64`.
///
/// # Errors
/// [`SourceError::Conversion`] for units or a value that does not fit.
pub(super) async fn with_units(
    opened: &[Opened],
    dimension: &str,
    units: &str,
) -> Result<Documents, ImportError> {
    let mut documents = Documents::new();
    let Some(first) = opened.first() else {
        return Ok(documents);
    };
    documents = times::documents(&first.hierarchy);
    let name = first.source.to_string();
    let Some(label) = first.coordinate(dimension).filter(Label::is_time) else {
        let reason = format!(
            "it has no time as coordinate of {dimension:?}, and only that can have the units {units:?}"
        );
        return Err(SourceError::variable(&name, &NodePath::root(), reason).into());
    };
    let path = &label.path;
    let document = documents.get(path).cloned().unwrap_or_default();
    let calendar = document["attributes"]["calendar"].as_str();
    let refuse = |error: TimeError| SourceError::conversion(&name, path, error.to_string());
    let to = TimeUnits::parse(units, calendar).map_err(refuse)?;
    let own = document["data_type"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let mut candidates: Vec<String> = vec![own.clone(), "int64".into(), "float64".into()];
    candidates.dedup();
    for one in opened {
        let name = one.source.to_string();
        let refused = |error: TimeError| SourceError::conversion(&name, path, error.to_string());
        let all = times::documents(&one.hierarchy);
        let Some(from) = times::units(&all, path) else {
            continue;
        };
        let from = from.map_err(refused)?;
        let kind = |name: &str| NumberType::of(&Value::from(name));
        let from_type = all[path]["data_type"].as_str().and_then(kind);
        let (Some(values), Some(from_type)) = (one.values(path).await?, from_type) else {
            continue;
        };
        let mut last = None;
        candidates.retain(|candidate| {
            let Some(to_type) = kind(candidate) else {
                return false;
            };
            let conversion = Conversion::new((from.clone(), from_type), (to.clone(), to_type));
            let converted = conversion.and_then(|it| {
                values
                    .iter()
                    .try_for_each(|value| it.converted(*value).map(drop))
            });
            match converted {
                Ok(()) => true,
                Err(error) => {
                    last = Some(error);
                    false
                }
            }
        });
        if let (true, Some(error)) = (candidates.is_empty(), last) {
            return Err(refused(error).into());
        }
    }
    let chosen = candidates.first().cloned().unwrap_or(own);
    let bounds = document["attributes"]["bounds"].as_str();
    let bounds = bounds.and_then(|name| sibling(path, name));
    for (path, is_bounds) in [(Some(path.clone()), false), (bounds, true)] {
        let Some(path) = path else { continue };
        let Some(document) = documents.get_mut(&path) else {
            continue;
        };
        if !is_bounds || document["attributes"]["units"].is_string() {
            document["attributes"]["units"] = units.into();
        }
        if document["data_type"] != *chosen && (!is_bounds || chosen != "int64") {
            retype(document, &chosen);
        }
    }
    Ok(documents)
}

/// The path of an array in the group of another one.
fn sibling(path: &NodePath, name: &str) -> Option<NodePath> {
    let (group, _) = path.as_str().rsplit_once('/')?;
    NodePath::parse(&format!("{group}/{name}")).ok()
}

/// Gives a document of numbers another type.
fn retype(document: &mut Value, data_type: &str) {
    let bytes = NumberType::of(&Value::from(data_type)).map_or(8, NumberType::bytes);
    *document = of_another_type(document, (data_type, bytes));
    let is_float = data_type.starts_with("float");
    let fill = &mut document["fill_value"];
    if !is_float && !fill.is_i64() && !fill.is_u64() {
        *fill = 0.into();
    }
    if let Some(Value::Object(attributes)) = document.get_mut("attributes")
        && !is_float
    {
        // Of a float, and without meaning for whole numbers.
        attributes.retain(|name, value| name != "_FillValue" || value.is_i64());
    }
}

/// The findings about the places of sources.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) gaps: Vec<Gap>,
}

/// Checks that each source is in order, and that sources go on where those before them ended, and leaves out what overlaps, if
/// that is wished.
/// `target` says where an array goes.
pub(super) async fn places(
    opened: &mut [Opened],
    dimension: &str,
    overlap: Overlap,
    session: &Session,
    existing: impl Fn(&NodePath) -> Option<NodePath>,
) -> Result<Places, ImportError> {
    let mut tails: BTreeMap<NodePath, Tail> = BTreeMap::new();
    let mut lines = Vec::new();
    for (number, one) in opened.iter_mut().enumerate() {
        let name = one.source.to_string();
        let primary = one.coordinate(dimension).map(|it| it.path);
        for label in labels::labels(&one.hierarchy, dimension) {
            let path = &label.path;
            if number == 0
                && let Some(there) = existing(path)
            {
                tails.insert(path.clone(), labels::tail_of(session, &there).await?);
            }
            let Some(values) = one.values(path).await? else {
                tails.insert(path.clone(), Tail::Unknown);
                continue;
            };
            monotonic::check(one, &label, dimension, &values)?;
            let mut line = Line::new(&values);
            let is_primary = primary.as_ref() == Some(path);
            let before = tails.get(path).copied().unwrap_or(Tail::Empty);
            if overlap == Overlap::First && is_primary {
                let kept = after(before, line.tail, &values);
                let kept = kept.map_err(|problem| refused(path, &name, problem))?;
                if kept > 0 {
                    one.kept = Some((kept as u64..line.count, line.count));
                    line = Line::new(&values[kept..]);
                }
            }
            let checks = overlap == Overlap::Refuse || is_primary && overlap == Overlap::First;
            if checks {
                let tail = follow(before, (line.begins(), line.tail), &label);
                let tail = tail.map_err(|problem| refused(path, &name, problem))?;
                tails.insert(path.clone(), tail);
            }
            if is_primary {
                lines.push((number, label, line));
            }
        }
    }
    if overlap == Overlap::Last {
        let existing = lines
            .first()
            .and_then(|(_, label, _)| tails.get(&label.path).copied());
        cut_ends(opened, &mut lines, existing.unwrap_or(Tail::Empty)).await?;
    }
    for one in opened.iter() {
        if let Some((kept, _)) = &one.kept {
            // Nothing else sets it.
            let _ = one.taken.set((dimension.to_owned(), kept.clone()));
        }
    }
    Ok(Places {
        gaps: gaps(opened, &lines),
    })
}

fn refused(path: &NodePath, name: &str, problem: &'static str) -> ImportError {
    ImportError::Labels {
        path: path.clone(),
        name: name.to_owned(),
        problem,
    }
}

/// How many elements at the start of a line do not lie after what is there.
fn after(before: Tail, tail: Tail, values: &[Number]) -> Result<usize, &'static str> {
    let (last, way) = match (before, tail) {
        (Tail::Empty, _) | (_, Tail::Empty) => return Ok(0),
        (Tail::Unknown, _) | (_, Tail::Unknown) => {
            return Err("are in no order, so that it is not known what overlaps");
        }
        (Tail::Run(last, way), Tail::One(_)) | (Tail::One(last), Tail::Run(_, way)) => (last, way),
        (Tail::One(last), Tail::One(_)) => (last, Ordering::Greater),
        (Tail::Run(last, way), Tail::Run(_, other)) if way == other => (last, way),
        _ => return Err("run the other way"),
    };
    let lies_after = |number: &Number| ordered(*number).is_some_and(|it| it.cmp(&last) == way);
    Ok(values.partition_point(|number| !lies_after(number)))
}

/// Leaves out what lies behind the begin of a later source.
async fn cut_ends(
    opened: &mut [Opened],
    lines: &mut [(usize, Label, Line)],
    existing: Tail,
) -> Result<(), ImportError> {
    let way = lines.iter().find_map(|(_, _, line)| match line.tail {
        Tail::Run(_, way) => Some(way),
        _ => None,
    });
    let way = way.unwrap_or(Ordering::Greater);
    let mut bound: Option<i128> = None;
    for (number, label, line) in lines.iter_mut().rev() {
        let one = &mut opened[*number];
        let refused = |problem| refused(&label.path, &one.source.to_string(), problem);
        match line.tail {
            Tail::Unknown => {
                return Err(refused(
                    "are in no order, so that it is not known what overlaps",
                ));
            }
            Tail::Run(_, other) if other != way => return Err(refused("run the other way")),
            _ => {}
        }
        if let (Some(bound), Some(last)) = (bound, line.last.and_then(ordered))
            && bound.cmp(&last) != way
        {
            let values = one.values(&label.path).await?.unwrap_or_default();
            let lies_before = |it: &Number| ordered(*it).is_some_and(|it| bound.cmp(&it) == way);
            let end = values.partition_point(lies_before);
            one.kept = Some((0..end as u64, line.count));
            *line = Line::new(&values[..end]);
        }
        bound = line.begins().or(bound);
    }
    let (Some((number, label, line)), Tail::One(last) | Tail::Run(last, _)) =
        (lines.first(), existing)
    else {
        return Ok(());
    };
    match line.begins() {
        Some(first) if first.cmp(&last) != way => Err(refused(
            &label.path,
            &opened[*number].source.to_string(),
            "overlap what is there, which an import does not replace: trim the array first, or keep it with --overlap first",
        )),
        _ => Ok(()),
    }
}

/// Steps between sources that are longer than is usual.
fn gaps(opened: &[Opened], lines: &[(usize, Label, Line)]) -> Vec<Gap> {
    let kept: Vec<_> = lines.iter().filter(|(_, _, line)| line.count > 0).collect();
    let steps = kept.windows(2).filter_map(|pair| {
        let (last, first) = (pair[0].2.last?, pair[1].2.first?);
        Some((pair, last, first, (float(first) - float(last)).abs()))
    });
    let steps: Vec<_> = steps.collect();
    let mut lengths: Vec<f64> = steps.iter().map(|(_, _, _, step)| *step).collect();
    lengths.sort_by(f64::total_cmp);
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let found = steps.into_iter().filter(|(pair, _, _, step)| {
        let within = [&pair[0].2, &pair[1].2]
            .into_iter()
            .filter_map(|it| it.longest_step);
        let usual = within.reduce(f64::max).unwrap_or(median);
        *step > GAP * usual
    });
    let gaps = found.map(|(pair, last, first, _)| Gap {
        path: pair[0].1.path.clone(),
        before: opened[pair[0].0].source.to_string(),
        after: opened[pair[1].0].source.to_string(),
        from: last.to_string(),
        to: first.to_string(),
        units: pair[1].1.units.clone(),
    });
    gaps.collect()
}
