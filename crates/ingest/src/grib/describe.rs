//! Variables in the terms of Zarr, with attributes of the CF conventions.

mod absent;
mod coordinates;
mod terms;

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_core::NodePath;
use serde_json::{Map, Value, json};

use self::absent::absent;
use self::coordinates::{coordinates, level, times};
use self::terms::{LEVEL, MAPPING, attributes, little_endian, of_grid, zstd_codec};
use super::cube::{Cube, Variable};
use super::field::{Decoder, extent};
use super::grid::{Grid, Shape};
use super::names::cell_method;
use super::packing::Width;
use super::scan::Scanned;
use crate::archive::values::{child, float_fill_attribute};
use crate::archive::{Archive, ArchiveFile};
use crate::{ArchiveArray, ArchiveChunks, ArchiveNode, ChunkExtents, Recode, SourceError};

/// Most reference times by steps, for each of which there is a moment.
const MAX_VALID: usize = 1 << 24;
/// Why nothing can refer to a field.
const PACKED: &str = "its values are packed as GRIB packs them, which no codec of Zarr undoes";

/// Returns the path of a variable.
pub(super) fn path(name: &str, url: &str) -> Result<NodePath, SourceError> {
    child(&NodePath::root(), name).map_err(|source| SourceError::NodeName {
        name: format!("the variable {name:?} of {url}"),
        source,
    })
}

/// Adds the arrays of a file to an archive.
pub(super) fn describe(
    cube: Cube,
    scanned: &Scanned,
    file: &ArchiveFile,
    archive: &mut Archive,
) -> Result<(), SourceError> {
    let root = attributes([
        ("Conventions", json!("CF-1.11")),
        ("GRIB_edition", json!(2)),
        ("GRIB_centre", json!(cube.centre)),
    ]);
    let group = ArchiveNode::Group(root);
    archive.nodes.insert(NodePath::root(), group);
    if scanned.between > 0 {
        let said = match scanned.between {
            1 => "1 byte belongs to no GRIB message".to_owned(),
            count => format!("{count} bytes belong to no GRIB message"),
        };
        archive.warnings.push(format!("{}: {said}", file.url()));
    }
    if cube.duplicates > 0 {
        let said = match cube.duplicates {
            1 => "1 message was left out, for another one of its place".to_owned(),
            count => format!("{count} messages were left out, each for another one of its place"),
        };
        archive.warnings.push(format!("{}: {said}", file.url()));
    }
    let places = cube.times.len().saturating_mul(cube.steps.len());
    if places > MAX_VALID {
        let (times, steps) = (cube.times.len(), cube.steps.len());
        let reason = format!(
            "there are {times} reference times and {steps} steps, too many of both: import the file in parts"
        );
        return Err(SourceError::variable(
            file.url(),
            &path("valid_time", file.url())?,
            reason,
        ));
    }
    let mut nodes = BTreeMap::new();
    if !cube.variables.is_empty() {
        times(&cube, &mut nodes);
    }
    for (name, axis) in &cube.levels {
        level(name, axis, &mut nodes);
    }
    for (number, grid) in cube.grids.iter().enumerate() {
        if cube.variables.iter().any(|it| it.key.grid == number) {
            coordinates(grid, number, &mut nodes);
        }
    }
    for variable in &cube.variables {
        if let Some(warning) = absent(variable, &cube) {
            archive.warnings.push(format!("{}: {warning}", file.url()));
        }
    }
    let Cube {
        grids, variables, ..
    } = &cube;
    for variable in variables {
        let grid = &grids[variable.key.grid];
        let array = array(variable, grid, &cube, scanned, file.url());
        // A coordinate keeps its name: that of a dimension must be its own.
        let name = match nodes.contains_key(&variable.name) {
            true => format!("{}_grib", variable.name),
            false => variable.name.clone(),
        };
        nodes.insert(name, array);
    }
    for (name, array) in nodes {
        let node = ArchiveNode::Array(Box::new(array));
        archive.nodes.insert(path(&name, file.url())?, node);
    }
    Ok(())
}

fn array(
    variable: &Variable,
    grid: &Grid,
    cube: &Cube,
    scanned: &Scanned,
    url: &str,
) -> ArchiveArray {
    let number = variable.key.grid;
    let outer = variable.outer(cube);
    let inner = grid.shape.lengths();
    let mut names = Vec::new();
    if variable.key.kind.is_member {
        names.push("number".to_owned());
    }
    names.extend(["time".to_owned(), "step".to_owned()]);
    names.extend(variable.levels.clone());
    names.extend(grid.shape.names().iter().map(|it| of_grid(it, number)));
    let rank = names.len();
    let mut extents = ChunkExtents::new(rank);
    let mut decoders: BTreeMap<Vec<u32>, Decoder> = BTreeMap::new();
    for (index, (at, decoder)) in &variable.fields {
        let mut whole = index.clone();
        whole.resize(rank, 0);
        let range = extent(&scanned.fields[*at]);
        extents.push(&whole, 0, range.start, range.end - range.start);
        decoders.insert(whole, decoder.clone());
    }
    extents.shrink();
    ArchiveArray {
        shape: outer.iter().chain(&inner).copied().collect(),
        chunk_shape: outer.iter().map(|_| 1).chain(inner).collect(),
        data_type: variable.width.data_type().into(),
        fill_value: json!("NaN"),
        codecs: vec![little_endian(), zstd_codec()],
        dimension_names: names.into_iter().map(Some).collect(),
        attributes: described(variable, grid),
        chunks: ArchiveChunks::Recoded {
            extents,
            recode: recode(decoders, variable.width, url),
            reason: PACKED.to_owned(),
        },
    }
}

/// Decodes fields, and encodes them as the codecs of the array say.
fn recode(decoders: BTreeMap<Vec<u32>, Decoder>, width: Width, url: &str) -> Recode {
    let url: Arc<str> = url.into();
    Recode::new(move |index, bytes, _| {
        let decoder = decoders.get(index).ok_or("it is no chunk of the array")?;
        let elements = decoder.elements(bytes, width);
        let elements = elements
            .map_err(|problem| SourceError::grib(&url, decoder.message, decoder.offset, problem))?;
        Ok(zstd::bulk::compress(&elements, LEVEL)?.into())
    })
}

/// The attributes of a variable.
fn described(variable: &Variable, grid: &Grid) -> Map<String, Value> {
    let key = &variable.key;
    let parameter = key.parameter;
    let number = key.grid;
    let mut all = Map::new();
    let mut add = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    if let Some(named) = variable.described.named {
        add("long_name", named.long_name.into());
        add("units", named.units.into());
        if let Some(standard_name) = named.standard_name {
            add("standard_name", standard_name.into());
        }
    }
    if let Some(method) = key.kind.statistic.and_then(cell_method) {
        add("cell_methods", format!("step: {method}").into());
    }
    let mut coordinates = vec!["valid_time".to_owned()];
    let beside = grid.coordinates.iter().filter(|it| it.axes.len() > 1);
    coordinates.extend(beside.map(|it| of_grid(it.name, number)));
    if let Shape::Row(_) = grid.shape {
        coordinates.extend(grid.coordinates.iter().map(|it| of_grid(it.name, number)));
    }
    add("coordinates", coordinates.join(" ").into());
    if grid.mapping.is_some() {
        add("grid_mapping", of_grid(MAPPING, number).into());
    }
    add("GRIB_discipline", parameter.discipline.into());
    add("GRIB_parameterCategory", parameter.category.into());
    add("GRIB_parameterNumber", parameter.number.into());
    add("GRIB_typeOfLevel", key.level_name().into());
    if let Some(level) = variable.level {
        add("GRIB_level", level.into());
    }
    if let Some(statistic) = key.kind.statistic {
        add("GRIB_typeOfStatisticalProcessing", statistic.into());
    }
    if let Some(length) = key.interval {
        add("GRIB_lengthOfTimeRange", length.into());
    }
    add("GRIB_gridType", grid.name.into());
    add("_FillValue", float_fill_attribute(f64::NAN));
    all
}
