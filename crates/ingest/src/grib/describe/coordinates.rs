//! Coordinates: members, times, steps, levels, and the points of a grid.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::cube::{Cube, LevelAxis};
use super::super::grid::{Coordinate, Grid};
use super::terms::{LEVEL, MAPPING, attributes, little_endian, of_grid, zstd_codec};
use crate::{ArchiveArray, ArchiveChunks};

/// Arrays of so many bytes are compressed.
const COMPRESSED: usize = 64 << 10;
/// Why nothing can refer to a coordinate.
const COMPUTED: &str = "it is computed of the headers of its messages";

/// An array of which one chunk has all elements.
fn made(
    names: &[&str],
    shape: &[u64],
    data_type: &str,
    bytes: Vec<u8>,
    attributes: Map<String, Value>,
) -> ArchiveArray {
    let mut codecs = vec![little_endian()];
    let mut chunk = Bytes::from(bytes);
    if chunk.len() >= COMPRESSED
        && let Ok(compressed) = zstd::bulk::compress(&chunk, LEVEL)
    {
        chunk = compressed.into();
        codecs.push(zstd_codec());
    }
    let fill_value = match data_type {
        "float64" => json!("NaN"),
        _ => json!(0),
    };
    ArchiveArray {
        shape: shape.to_vec(),
        chunk_shape: shape.to_vec(),
        data_type: data_type.into(),
        fill_value,
        codecs,
        dimension_names: names.iter().map(|it| Some((*it).to_owned())).collect(),
        attributes,
        chunks: ArchiveChunks::Made {
            chunks: vec![(vec![0; shape.len()].into(), chunk)],
            reason: COMPUTED.to_owned(),
        },
    }
}

fn integers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|it| it.to_le_bytes()).collect()
}

fn floats(values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let values = values.into_iter();
    values.flat_map(f64::to_le_bytes).collect()
}

/// The coordinates that are the same for all variables.
pub(super) fn times(cube: &Cube, nodes: &mut BTreeMap<String, ArchiveArray>) {
    let since = json!("seconds since 1970-01-01");
    let calendar = json!("proleptic_gregorian");
    let reference = attributes([
        ("units", since.clone()),
        ("calendar", calendar.clone()),
        ("standard_name", json!("forecast_reference_time")),
        ("long_name", json!("reference time")),
        ("axis", json!("T")),
    ]);
    // With this type, xarray reads a length of time, not a number.
    let step = attributes([
        ("units", json!("seconds")),
        ("dtype", json!("timedelta64[ns]")),
        ("standard_name", json!("forecast_period")),
        ("long_name", json!("time since the reference time")),
    ]);
    let valid = attributes([
        ("units", since),
        ("calendar", calendar),
        ("standard_name", json!("time")),
        ("long_name", json!("time for which the values are")),
    ]);
    let number = attributes([
        ("units", json!("1")),
        ("standard_name", json!("realization")),
        ("long_name", json!("number of the member of the ensemble")),
    ]);
    let (times, steps, members) = (&cube.times, &cube.steps, &cube.members);
    let all = times
        .iter()
        .flat_map(|time| steps.iter().map(move |step| time.saturating_add(*step)));
    let all: Vec<i64> = all.collect();
    let mut add = |name: &str, names: &[&str], shape: &[u64], values: &[i64], attributes| {
        let array = made(names, shape, "int64", integers(values), attributes);
        nodes.insert(name.to_owned(), array);
    };
    let (n_times, n_steps) = (times.len() as u64, steps.len() as u64);
    add("time", &["time"], &[n_times], times, reference);
    add("step", &["step"], &[n_steps], steps, step);
    add(
        "valid_time",
        &["time", "step"],
        &[n_times, n_steps],
        &all,
        valid,
    );
    if !members.is_empty() {
        let count = members.len() as u64;
        add("number", &["number"], &[count], members, number);
    }
}

/// The coordinate of levels, and the bounds of layers.
pub(super) fn level(name: &str, axis: &LevelAxis, nodes: &mut BTreeMap<String, ArchiveArray>) {
    let count = axis.levels.len() as u64;
    let mut described = Map::new();
    if let Some(kind) = axis.kind {
        described.insert("units".to_owned(), kind.units.0.into());
        described.insert("long_name".to_owned(), kind.long_name.into());
        if let Some(standard_name) = kind.standard_name {
            described.insert("standard_name".to_owned(), standard_name.into());
        }
        if let Some(positive) = kind.positive {
            described.insert("positive".to_owned(), positive.into());
        }
    }
    described.insert("axis".to_owned(), "Z".into());
    let firsts = || axis.levels.iter().map(|it| it.0);
    let mut distinct: Vec<u64> = firsts().map(f64::to_bits).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // Layers that begin at one surface are told apart by their middles.
    let values = match distinct.len() == axis.levels.len() {
        true => floats(firsts()),
        false => floats(
            axis.levels
                .iter()
                .map(|(one, other)| f64::midpoint(*one, *other)),
        ),
    };
    if axis.is_layer {
        let bounds = format!("{name}_bounds");
        described.insert("bounds".to_owned(), bounds.clone().into());
        let both = floats(axis.levels.iter().flat_map(|(one, other)| [*one, *other]));
        let array = made(&[name, "bnds"], &[count, 2], "float64", both, Map::new());
        nodes.insert(bounds, array);
    }
    let array = made(&[name], &[count], "float64", values, described);
    nodes.insert(name.to_owned(), array);
}

/// The coordinates of the points of a grid, and what describes its projection.
pub(super) fn coordinates(grid: &Grid, number: usize, nodes: &mut BTreeMap<String, ArchiveArray>) {
    let (names, lengths) = (grid.shape.names(), grid.shape.lengths());
    let names: Vec<String> = names.iter().map(|it| of_grid(it, number)).collect();
    for Coordinate {
        name,
        axes,
        values,
        attributes,
    } in &grid.coordinates
    {
        let along: Vec<&str> = axes.iter().map(|it| names[*it].as_str()).collect();
        let shape: Vec<u64> = axes.iter().map(|it| lengths[*it]).collect();
        let described = attributes.iter();
        let described = described.map(|(name, value)| ((*name).to_owned(), json!(value)));
        let bytes = floats(values.iter().copied());
        let array = made(&along, &shape, "float64", bytes, described.collect());
        nodes.insert(of_grid(name, number), array);
    }
    if let Some(mapping) = &grid.mapping {
        let array = made(&[], &[], "int64", integers(&[0]), mapping.clone());
        nodes.insert(of_grid(MAPPING, number), array);
    }
}
