//! Grids of latitudes and longitudes: templates 3.0, 3.1 and 3.40.

use super::super::octets::Octets;
use super::super::problem::GribProblem;
use super::gaussian::gaussian_latitudes;
use super::lines::{longitudes, spread};
use super::projection::Projection;
use super::{
    Coordinate, Grid, IS_FUZZED, LATITUDE, LONGITUDE, Shape, VARIES, around_points, check_points,
    miscounted, plane, projected,
};

/// Most rows between a pole and the equator: four times as many as any model has.
const MAX_BETWEEN: u32 = if IS_FUZZED { 1 << 8 } else { 1 << 13 };
/// Degrees by which a latitude may miss the one of the Gaussian grid that it stands for: edition 1 has three digits.
const TOLERANCE: f64 = 0.01;

/// The common fields of lines of latitude and longitude: templates 3.0, 3.1 and 3.40.
struct Angles {
    columns: u32,
    rows: u32,
    /// Degrees of a unit; of none, it is a millionth.
    unit: Option<f64>,
    first: (f64, f64),
    last: (f64, f64),
    /// From one column to the next, if it is stated.
    step: Option<f64>,
    scanning: u8,
}

fn degrees(unit: Option<f64>, number: i32) -> f64 {
    match unit {
        // Divided, not multiplied: ten to the sixth is exact, and its inverse is not.
        None => f64::from(number) / 1e6,
        Some(unit) => f64::from(number) * unit,
    }
}

impl Angles {
    fn of(octets: &Octets<'_>, points: u64) -> Result<Self, GribProblem> {
        let (basic, parts) = (octets.u32(39)?, octets.u32(43)?);
        let unit = match (basic, parts) {
            (0 | u32::MAX, _) | (_, 0 | u32::MAX) => None,
            (basic, parts) => Some(f64::from(basic) / f64::from(parts)),
        };
        let angle = |first| octets.i32(first).map(|it| degrees(unit, it));
        let has_step = octets.u8(55)? & 0x20 != 0 && octets.u32(64)? != u32::MAX;
        let (columns, rows) = (octets.u32(31)?, octets.u32(35)?);
        // Where the columns vary, the lengths of the rows are counted.
        if columns != VARIES || u64::from(rows) > points {
            check_points(columns, rows, points)?;
        }
        Ok(Self {
            columns,
            rows,
            unit,
            first: (angle(47)?, angle(51)?),
            last: (angle(56)?, angle(60)?),
            step: if has_step { Some(angle(64)?) } else { None },
            scanning: octets.u8(72)?,
        })
    }

    fn longitudes(&self) -> Vec<f64> {
        let sign = if self.scanning & 0x80 == 0 { 1.0 } else { -1.0 };
        let step = self.step.map(|step| step * sign);
        longitudes(
            (self.first.1, self.last.1),
            self.columns as usize,
            sign,
            step,
        )
    }

    /// A grid with a latitude for each row.
    fn grid(&self, name: &'static str, latitudes: Vec<f64>) -> Result<Grid, GribProblem> {
        Ok(Grid {
            shape: self.plane(["latitude", "longitude"])?,
            name,
            coordinates: vec![
                Coordinate {
                    name: "latitude",
                    axes: vec![0],
                    values: latitudes,
                    attributes: LATITUDE.into(),
                },
                Coordinate {
                    name: "longitude",
                    axes: vec![1],
                    values: self.longitudes(),
                    attributes: LONGITUDE.into(),
                },
            ],
            mapping: None,
        })
    }

    fn plane(&self, names: [&'static str; 2]) -> Result<Shape, GribProblem> {
        plane(names, self.columns, self.rows, self.scanning)
    }

    /// The numbers of points of each row, where they vary.
    fn row_lengths(&self, octets: &Octets<'_>, first: usize) -> Result<Vec<u32>, GribProblem> {
        let width = usize::from(octets.u8(11)?);
        let rows = self.rows as usize;
        let listed = octets.get(first, rows.saturating_mul(width))?;
        if self.scanning & 0x30 != 0 {
            return Err(GribProblem::unsupported(
                3,
                "the scanning mode",
                self.scanning,
            ));
        }
        match width {
            1 => Ok(listed.iter().map(|it| u32::from(*it)).collect()),
            2 => {
                let (pairs, _) = listed.as_chunks::<2>();
                Ok(pairs
                    .iter()
                    .map(|it| u16::from_be_bytes(*it).into())
                    .collect())
            }
            4 => {
                let (fours, _) = listed.as_chunks::<4>();
                Ok(fours.iter().map(|it| u32::from_be_bytes(*it)).collect())
            }
            width => Err(GribProblem::unsupported(
                3,
                "the width of the lengths of rows",
                width as u64,
            )),
        }
    }

    /// A grid of rows of different lengths, all of which go round the whole circle.
    fn reduced(
        &self,
        name: &'static str,
        lengths: &[u32],
        latitudes: &[f64],
        stated: u64,
    ) -> Result<Grid, GribProblem> {
        let points: u64 = lengths.iter().map(|it| u64::from(*it)).sum();
        if points != stated {
            return Err(miscounted(points, stated));
        }
        let longest = lengths.iter().copied().max().unwrap_or(1).max(1);
        let gap = 360.0 / f64::from(longest);
        let covered = (self.last.1 - self.first.1).rem_euclid(360.0);
        if (covered + gap - 360.0).abs() > gap / 2.0 {
            let degrees = covered.round() as u64;
            return Err(GribProblem::unsupported(
                3,
                "the circle of its rows, in degrees,",
                degrees,
            ));
        }
        let (mut lat, mut lon) = (Vec::new(), Vec::new());
        for (length, latitude) in lengths.iter().zip(latitudes) {
            for column in 0..*length {
                lat.push(*latitude);
                lon.push(self.first.1 + 360.0 * f64::from(column) / f64::from(*length));
            }
        }
        Ok(Grid {
            shape: Shape::Row(points),
            name,
            coordinates: around_points(vec![0], lat, lon),
            mapping: None,
        })
    }
}

/// Template 3.0.
pub(super) fn regular(octets: &Octets<'_>, points: u64) -> Result<Grid, GribProblem> {
    let angles = Angles::of(octets, points)?;
    let latitudes = spread(angles.first.0, angles.last.0, angles.rows as usize);
    if angles.columns == VARIES {
        let lengths = angles.row_lengths(octets, 73)?;
        return angles.reduced("reduced_ll", &lengths, &latitudes, points);
    }
    angles.grid("regular_ll", latitudes)
}

/// Template 3.40.
pub(super) fn gaussian(octets: &Octets<'_>, points: u64) -> Result<Grid, GribProblem> {
    let angles = Angles::of(octets, points)?;
    let between = octets.u32(68)?;
    if between == 0 || between > MAX_BETWEEN || u64::from(angles.rows) > u64::from(between) * 2 {
        let problem = format!(
            "its Gaussian grid has {} rows, and {between} between a pole and the equator",
            angles.rows
        );
        return Err(GribProblem::damaged(3, problem));
    }
    let mut all = gaussian_latitudes(between as usize);
    if angles.scanning & 0x40 != 0 {
        all.reverse();
    }
    let near = |wanted: f64| move |it: &&f64| (**it - wanted).abs() < TOLERANCE;
    let wanted = angles.first.0;
    let first = all
        .iter()
        .position(|it| near(wanted)(&it))
        .unwrap_or(usize::MAX);
    let end = first.saturating_add(angles.rows as usize);
    let latitudes = all.get(first..end).unwrap_or(&[]).to_vec();
    if latitudes.last().filter(near(angles.last.0)).is_none() {
        let problem = format!(
            "its {} latitudes from {wanted} to {} are none of the Gaussian grid of number {between}",
            angles.rows, angles.last.0
        );
        return Err(GribProblem::damaged(3, problem));
    }
    if angles.columns == VARIES {
        let lengths = angles.row_lengths(octets, 73)?;
        return angles.reduced("reduced_gg", &lengths, &latitudes, points);
    }
    angles.grid("regular_gg", latitudes)
}

/// Template 3.1.
pub(super) fn rotated(octets: &Octets<'_>, points: u64) -> Result<Grid, GribProblem> {
    let angles = Angles::of(octets, points)?;
    let angle = |first| octets.i32(first).map(|it| degrees(angles.unit, it));
    let south = (angle(73)?, angle(77)?);
    let projection = Projection::Rotated {
        south,
        angle: f64::from(octets.f32(81)?),
    };
    let y = spread(angles.first.0, angles.last.0, angles.rows as usize);
    let shape = angles.plane(["y", "x"])?;
    Ok(projected(
        shape,
        "rotated_ll",
        projection,
        y,
        angles.longitudes(),
    ))
}
