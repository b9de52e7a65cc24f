//! The shape of the earth: table 3.2.

use super::super::octets::{Decimal, Octets};
use super::super::problem::GribProblem;

/// An ellipsoid, in metres; a sphere if both axes are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Earth {
    pub(super) major: f64,
    pub(super) minor: f64,
}

impl Earth {
    /// Reads octets 15 to 30 of a section 3.
    pub(super) fn of(octets: &Octets<'_>) -> Result<Self, GribProblem> {
        let axis = |first, unit: f64| -> Result<f64, GribProblem> {
            let axis = octets.scaled(first)?.map(Decimal::value);
            let axis = axis.map(|it| it * unit).filter(|it| *it > 0.0);
            axis.ok_or_else(|| GribProblem::damaged(3, "it states no radius of the earth"))
        };
        let sphere = |radius| Self {
            major: radius,
            minor: radius,
        };
        let flattened = |major: f64, inverse: f64| Self {
            major,
            minor: major * (1.0 - 1.0 / inverse),
        };
        let both = |unit| -> Result<Self, GribProblem> {
            Ok(Self {
                major: axis(21, unit)?,
                minor: axis(26, unit)?,
            })
        };
        Ok(match octets.u8(15)? {
            0 => sphere(6_367_470.0),
            1 => sphere(axis(16, 1.0)?),
            2 => Self {
                major: 6_378_160.0,
                minor: 6_356_775.0,
            },
            3 => both(1e3)?,
            4 => flattened(6_378_137.0, 298.257_222_101),
            5 => flattened(6_378_137.0, 298.257_223_563),
            6 => sphere(6_371_229.0),
            7 => both(1.0)?,
            8 => sphere(6_371_200.0),
            9 => Self {
                major: 6_377_563.396,
                minor: 6_356_256.909,
            },
            shape => return Err(GribProblem::unsupported(3, "the shape of the earth", shape)),
        })
    }

    /// The first eccentricity.
    pub(super) fn eccentricity(self) -> f64 {
        let ratio = self.minor / self.major;
        (1.0 - ratio * ratio).max(0.0).sqrt()
    }
}
