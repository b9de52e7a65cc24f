//! Section 3: the points of a field, in which order they come, and their coordinates.

mod angles;
mod earth;
mod gaussian;
mod lines;
mod metres;
mod projection;

use serde_json::{Map, Value};

use self::projection::{Projected, Projection};
use super::octets::Octets;
use super::order::Order;
use super::problem::GribProblem;

/// Whether this is built for a fuzz target, which has little time and memory for each input.
#[expect(unexpected_cfgs, reason = "`cargo xtask fuzz` sets it")]
const IS_FUZZED: bool = cfg!(fuzzing);
/// Most points of a field: four bytes of each are a gigabyte.
const MAX_POINTS: u64 = if IS_FUZZED { 1 << 20 } else { 1 << 28 };
/// Most points whose latitudes and longitudes are held in memory, of all grids of a file: half a gigabyte.
pub(super) const MAX_HELD: u64 = if IS_FUZZED { 1 << 20 } else { 1 << 25 };
/// The number of points of a line where it differs from line to line.
const VARIES: u32 = u32::MAX;

/// The grid of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) shape: Shape,
    /// Its name in attributes, that of eccodes.
    pub(super) name: &'static str,
    pub(super) coordinates: Vec<Coordinate>,
    /// The attributes of the variable that describes the projection.
    pub(super) mapping: Option<Map<String, Value>>,
}

/// The dimensions of a grid.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Two dimensions: their names and lengths, the outer one first, and how the points of a field lie in them.
    Plane {
        names: [&'static str; 2],
        lengths: [u64; 2],
        order: Order,
    },
    /// Points in one row.
    Row(u64),
}

/// The name of the dimension of points in one row.
pub(super) const VALUES: &str = "values";

/// Coordinates of the points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coordinate {
    pub(super) name: &'static str,
    /// Along which of the dimensions.
    pub(super) axes: Vec<usize>,
    pub(super) values: Vec<f64>,
    pub(super) attributes: Vec<(&'static str, &'static str)>,
}

impl Shape {
    /// The names of the dimensions.
    pub(super) fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Plane { names, .. } => names.to_vec(),
            Self::Row(_) => vec![VALUES],
        }
    }

    /// The lengths of the dimensions.
    pub(super) fn lengths(&self) -> Vec<u64> {
        match self {
            Self::Plane { lengths, .. } => lengths.to_vec(),
            Self::Row(points) => vec![*points],
        }
    }

    /// The number of points.
    pub(super) fn points(&self) -> u64 {
        self.lengths().iter().product()
    }

    /// How the points of a field lie in the dimensions.
    pub(super) fn order(&self) -> Order {
        match self {
            Self::Plane { order, .. } => *order,
            Self::Row(_) => Order::AS_THEY_ARE,
        }
    }
}

const LATITUDE: [(&str, &str); 3] = [
    ("units", "degrees_north"),
    ("standard_name", "latitude"),
    ("long_name", "latitude"),
];
const LONGITUDE: [(&str, &str); 3] = [
    ("units", "degrees_east"),
    ("standard_name", "longitude"),
    ("long_name", "longitude"),
];

impl Grid {
    /// Reads a section 3. Takes from `room` the points whose latitudes and longitudes are held in memory.
    pub(super) fn of(section: &[u8], room: &mut u64) -> Result<Self, GribProblem> {
        let octets = Octets::new(3, section);
        let source = octets.u8(6)?;
        if source != 0 {
            return Err(GribProblem::unsupported(
                3,
                "the source of the grid definition",
                source,
            ));
        }
        let points = u64::from(octets.u32(7)?);
        if points > MAX_POINTS {
            return Err(GribProblem::unsupported(3, "the number of points", points));
        }
        if points == 0 {
            return Err(GribProblem::damaged(3, "it has no points"));
        }
        let template = octets.u16(13)?;
        // Regular grids have a latitude for each row, and a longitude for each column.
        let held = match template {
            0 | 40 if octets.u32(31)? != VARIES => {
                u64::from(octets.u32(31)?) + u64::from(octets.u32(35)?)
            }
            0 | 1 | 10 | 20 | 30 | 40 => points,
            _ => 0,
        };
        let left = room.checked_sub(held);
        *room = left.ok_or_else(|| GribProblem::unsupported(3, "the number of points", points))?;
        let grid = match template {
            0 => angles::regular(&octets, points)?,
            1 => angles::rotated(&octets, points)?,
            10 => metres::mercator(&octets, points)?,
            20 => metres::polar(&octets, points)?,
            30 => metres::lambert(&octets, points)?,
            40 => angles::gaussian(&octets, points)?,
            // The coordinates are in a file of their own.
            101 => Self {
                shape: Shape::Row(points),
                name: "unstructured_grid",
                coordinates: Vec::new(),
                mapping: None,
            },
            number => return Err(GribProblem::Template { section: 3, number }),
        };
        match grid.shape.points() {
            counted if counted == points => Ok(grid),
            counted => Err(miscounted(counted, points)),
        }
    }
}

fn miscounted(counted: u64, stated: u64) -> GribProblem {
    let problem = format!("its grid has {counted} points, and it states {stated}");
    GribProblem::damaged(3, problem)
}

/// Checks the number of points before memory is reserved for them.
fn check_points(columns: u32, rows: u32, stated: u64) -> Result<(), GribProblem> {
    match u64::from(columns).saturating_mul(u64::from(rows)) {
        counted if counted == stated => Ok(()),
        counted => Err(miscounted(counted, stated)),
    }
}

/// Coordinates that lie along all dimensions.
fn around_points(axes: Vec<usize>, latitudes: Vec<f64>, longitudes: Vec<f64>) -> Vec<Coordinate> {
    vec![
        Coordinate {
            name: "latitude",
            axes: axes.clone(),
            values: latitudes,
            attributes: LATITUDE.into(),
        },
        Coordinate {
            name: "longitude",
            axes,
            values: longitudes,
            attributes: LONGITUDE.into(),
        },
    ]
}

fn plane(
    names: [&'static str; 2],
    columns: u32,
    rows: u32,
    scanning: u8,
) -> Result<Shape, GribProblem> {
    if columns == VARIES || rows == VARIES {
        return Err(GribProblem::unsupported(
            3,
            "the number of points of a line",
            VARIES,
        ));
    }
    Ok(Shape::Plane {
        names,
        lengths: [rows.into(), columns.into()],
        order: Order::of(scanning, columns, rows)?,
    })
}

/// A grid with coordinates along its dimensions, and latitudes and longitudes of all points.
fn projected(
    shape: Shape,
    name: &'static str,
    projection: Projection,
    y: Vec<f64>,
    x: Vec<f64>,
) -> Grid {
    let Projected { axes, mapping } = projection.described();
    let (mut latitudes, mut longitudes) = (Vec::new(), Vec::new());
    for y in &y {
        for x in &x {
            let (latitude, longitude) = projection.inverse(*x, *y);
            latitudes.push(latitude);
            longitudes.push(longitude);
        }
    }
    let [of_y, of_x] = axes;
    let mut coordinates = vec![
        Coordinate {
            name: "y",
            axes: vec![0],
            values: y,
            attributes: of_y,
        },
        Coordinate {
            name: "x",
            axes: vec![1],
            values: x,
            attributes: of_x,
        },
    ];
    coordinates.extend(around_points(vec![0, 1], latitudes, longitudes));
    Grid {
        shape,
        name,
        coordinates,
        mapping: Some(mapping),
    }
}
