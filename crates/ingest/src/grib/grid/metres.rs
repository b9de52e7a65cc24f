//! Grids of map projections, in metres: templates 3.10, 3.20 and 3.30.

use super::super::octets::Octets;
use super::super::problem::GribProblem;
use super::earth::Earth;
use super::projection::Projection;
use super::{Grid, check_points, plane, projected};

/// The common fields of the templates of projections.
struct Metres {
    columns: u32,
    rows: u32,
    earth: Earth,
    first: (f64, f64),
    true_at: f64,
}

impl Metres {
    fn of(octets: &Octets<'_>, points: u64) -> Result<Self, GribProblem> {
        check_points(octets.u32(31)?, octets.u32(35)?, points)?;
        let angle = |first| octets.i32(first).map(|it| f64::from(it) / 1e6);
        Ok(Self {
            columns: octets.u32(31)?,
            rows: octets.u32(35)?,
            earth: Earth::of(octets)?,
            first: (angle(39)?, angle(43)?),
            true_at: angle(48)?,
        })
    }

    /// A grid with so many millimetres between its columns and its rows.
    fn grid(
        &self,
        name: &'static str,
        projection: Projection,
        (dx, dy): (u32, u32),
        scanning: u8,
    ) -> Result<Grid, GribProblem> {
        let shape = plane(["y", "x"], self.columns, self.rows, scanning)?;
        let (x, y) = projection.forward(self.first.0, self.first.1);
        if !x.is_finite() || !y.is_finite() {
            return Err(GribProblem::damaged(
                3,
                "its projection does not have its first point",
            ));
        }
        let along = |first: f64, step: u32, is_backward: bool, count: u32| -> Vec<f64> {
            let step = f64::from(step) / 1e3;
            let step = if is_backward { -step } else { step };
            (0..count).map(|at| first + step * f64::from(at)).collect()
        };
        let x = along(x, dx, scanning & 0x80 != 0, self.columns);
        let y = along(y, dy, scanning & 0x40 == 0, self.rows);
        Ok(projected(shape, name, projection, y, x))
    }
}

/// Template 3.10.
pub(super) fn mercator(octets: &Octets<'_>, points: u64) -> Result<Grid, GribProblem> {
    let metres = Metres::of(octets, points)?;
    let orientation = octets.u32(61)?;
    if orientation != 0 {
        return Err(GribProblem::unsupported(
            3,
            "the orientation of the grid",
            orientation,
        ));
    }
    let projection = Projection::mercator(metres.earth, metres.true_at)?;
    let steps = (octets.u32(65)?, octets.u32(69)?);
    metres.grid("mercator", projection, steps, octets.u8(60)?)
}

/// Template 3.20.
pub(super) fn polar(octets: &Octets<'_>, points: u64) -> Result<Grid, GribProblem> {
    let metres = Metres::of(octets, points)?;
    let centre = octets.u8(64)?;
    if centre & 0x40 != 0 {
        return Err(GribProblem::unsupported(3, "the projection centre", centre));
    }
    let meridian = f64::from(octets.i32(52)?) / 1e6;
    let is_south = centre & 0x80 != 0;
    let projection = Projection::polar(metres.earth, metres.true_at, meridian, is_south)?;
    let steps = (octets.u32(56)?, octets.u32(60)?);
    metres.grid("polar_stereographic", projection, steps, octets.u8(65)?)
}

/// Template 3.30.
pub(super) fn lambert(octets: &Octets<'_>, points: u64) -> Result<Grid, GribProblem> {
    let metres = Metres::of(octets, points)?;
    let centre = octets.u8(64)?;
    if centre & 0x40 != 0 {
        return Err(GribProblem::unsupported(3, "the projection centre", centre));
    }
    let angle = |first| octets.i32(first).map(|it| f64::from(it) / 1e6);
    let (meridian, parallels) = (angle(52)?, (angle(66)?, angle(70)?));
    let projection = Projection::lambert(metres.earth, metres.true_at, meridian, parallels)?;
    let steps = (octets.u32(56)?, octets.u32(60)?);
    metres.grid("lambert", projection, steps, octets.u8(65)?)
}
