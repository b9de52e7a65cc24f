//! Map projections of an ellipsoid, forward and back, and their words in the CF conventions.
//!
//! The formulas are those of J. P. Snyder, *Map Projections: A Working Manual* (1987).

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use serde_json::{Map, Value, json};

use super::super::problem::GribProblem;
use super::earth::Earth;

/// A projection; angles in radians, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Projection {
    /// Latitudes and longitudes of another pole. In degrees: where the south pole went, and the turn about the new axis.
    Rotated { south: (f64, f64), angle: f64 },
    /// The parallel of true scale, and the radius there.
    Mercator {
        earth: Earth,
        true_at: f64,
        radius: f64,
    },
    /// On a pole. `scale` turns the function `narrowing` into a radius.
    Polar {
        earth: Earth,
        true_at: f64,
        meridian: f64,
        is_south: bool,
        scale: f64,
    },
    /// On a cone. `scale` and `cone` turn the function `narrowing` into a radius, `origin` is that of the latitude of origin.
    Lambert {
        earth: Earth,
        parallels: (f64, f64),
        latitude: f64,
        meridian: f64,
        cone: f64,
        scale: f64,
        origin: f64,
    },
}

/// The description of a projection by the CF conventions.
pub(super) struct Projected {
    /// The attributes of `y` and `x`.
    pub(super) axes: [Vec<(&'static str, &'static str)>; 2],
    pub(super) mapping: Map<String, Value>,
}

/// How far a parallel is from the axis, over the major axis.
fn width(latitude: f64, eccentricity: f64) -> f64 {
    let sine = eccentricity * latitude.sin();
    latitude.cos() / (1.0 - sine * sine).sqrt()
}

/// Goes from 1 at the equator to 0 at the north pole.
fn narrowing(latitude: f64, eccentricity: f64) -> f64 {
    let sine = eccentricity * latitude.sin();
    let bulge = ((1.0 - sine) / (1.0 + sine)).powf(eccentricity / 2.0);
    (FRAC_PI_4 - latitude / 2.0).tan() / bulge
}

/// Undoes [`narrowing`].
fn widening(narrowing: f64, eccentricity: f64) -> f64 {
    let mut latitude = FRAC_PI_2 - 2.0 * narrowing.atan();
    for _ in 0..15 {
        let sine = eccentricity * latitude.sin();
        let bulge = ((1.0 - sine) / (1.0 + sine)).powf(eccentricity / 2.0);
        let next = FRAC_PI_2 - 2.0 * (narrowing * bulge).atan();
        let step = (next - latitude).abs();
        latitude = next;
        if step < 1e-14 {
            break;
        }
    }
    latitude
}

/// Longitudes between -180 and 180 degrees.
fn around(degrees: f64) -> f64 {
    match (degrees + 180.0).rem_euclid(360.0) - 180.0 {
        west if west == -180.0 && degrees > 0.0 => 180.0,
        degrees => degrees,
    }
}

impl Projection {
    /// A cylinder that has the true scale at a latitude, in degrees.
    pub(super) fn mercator(earth: Earth, true_at: f64) -> Result<Self, GribProblem> {
        let true_at = true_at.to_radians();
        let radius = earth.major * width(true_at, earth.eccentricity());
        match radius > 1.0 {
            true => Ok(Self::Mercator {
                earth,
                true_at,
                radius,
            }),
            false => Err(GribProblem::damaged(
                3,
                "Mercator's scale is true at a pole",
            )),
        }
    }

    /// A plane that has the true scale at a latitude, in degrees.
    pub(super) fn polar(
        earth: Earth,
        true_at: f64,
        meridian: f64,
        is_south: bool,
    ) -> Result<Self, GribProblem> {
        let eccentricity = earth.eccentricity();
        // Its sign is that of the hemisphere, whatever the file says.
        let latitude = true_at.abs().to_radians();
        let scale = match FRAC_PI_2 - latitude < 1e-9 {
            true => {
                let (more, less) = (1.0 + eccentricity, 1.0 - eccentricity);
                2.0 / (more.powf(more) * less.powf(less)).sqrt()
            }
            false => width(latitude, eccentricity) / narrowing(latitude, eccentricity),
        };
        match scale.is_finite() && latitude <= FRAC_PI_2 {
            true => Ok(Self::Polar {
                earth,
                true_at: if is_south { -latitude } else { latitude },
                meridian: meridian.to_radians(),
                is_south,
                scale: scale * earth.major,
            }),
            false => Err(GribProblem::damaged(
                3,
                "its latitude of true scale is none",
            )),
        }
    }

    /// A cone that cuts two parallels, in degrees.
    pub(super) fn lambert(
        earth: Earth,
        latitude: f64,
        meridian: f64,
        (one, other): (f64, f64),
    ) -> Result<Self, GribProblem> {
        let eccentricity = earth.eccentricity();
        let (one, other, latitude) = (one.to_radians(), other.to_radians(), latitude.to_radians());
        let (width_of, narrowing_of) = (
            |it| width(it, eccentricity),
            |it| narrowing(it, eccentricity),
        );
        let cone = match (one - other).abs() < 1e-9 {
            true => one.sin(),
            false => {
                (width_of(one).ln() - width_of(other).ln())
                    / (narrowing_of(one).ln() - narrowing_of(other).ln())
            }
        };
        let scale = earth.major * width_of(one) / (cone * narrowing_of(one).powf(cone));
        let origin = scale * narrowing_of(latitude).powf(cone);
        match cone.abs() > 1e-6 && scale.is_finite() && origin.is_finite() {
            true => Ok(Self::Lambert {
                earth,
                parallels: (one, other),
                latitude,
                meridian: meridian.to_radians(),
                cone,
                scale,
                origin,
            }),
            false => Err(GribProblem::damaged(3, "its two parallels make no cone")),
        }
    }

    /// Returns `x` and `y` of a latitude and a longitude in degrees.
    pub(super) fn forward(&self, latitude: f64, longitude: f64) -> (f64, f64) {
        let (lat, lon) = (latitude.to_radians(), longitude.to_radians());
        match *self {
            // Files have the coordinates of the grid itself.
            Self::Rotated { .. } => (longitude, latitude),
            Self::Mercator { earth, radius, .. } => {
                let y = -radius * narrowing(lat, earth.eccentricity()).ln();
                (radius * lon, y)
            }
            Self::Polar {
                earth,
                meridian,
                is_south,
                scale,
                ..
            } => {
                let sign = if is_south { -1.0 } else { 1.0 };
                let radius = scale * narrowing(lat * sign, earth.eccentricity());
                let angle = lon - meridian;
                (radius * angle.sin(), -sign * radius * angle.cos())
            }
            Self::Lambert {
                earth,
                meridian,
                cone,
                scale,
                origin,
                ..
            } => {
                let radius = scale * narrowing(lat, earth.eccentricity()).powf(cone);
                let angle = cone * around((lon - meridian).to_degrees()).to_radians();
                (radius * angle.sin(), origin - radius * angle.cos())
            }
        }
    }

    /// Returns the latitude and the longitude, in degrees, of `x` and `y`.
    pub(super) fn inverse(&self, x: f64, y: f64) -> (f64, f64) {
        match *self {
            Self::Rotated { south, angle } => unrotated(south, angle, (y, x)),
            Self::Mercator { earth, radius, .. } => {
                let latitude = widening((-y / radius).exp(), earth.eccentricity());
                (latitude.to_degrees(), around((x / radius).to_degrees()))
            }
            Self::Polar {
                earth,
                meridian,
                is_south,
                scale,
                ..
            } => {
                let sign = if is_south { -1.0 } else { 1.0 };
                let radius = x.hypot(y);
                let latitude = sign * widening(radius / scale, earth.eccentricity());
                let angle = match radius == 0.0 {
                    true => 0.0,
                    false => x.atan2(-sign * y),
                };
                (
                    latitude.to_degrees(),
                    around((meridian + angle).to_degrees()),
                )
            }
            Self::Lambert {
                earth,
                meridian,
                cone,
                scale,
                origin,
                ..
            } => {
                let (sign, height) = (cone.signum(), origin - y);
                let radius = sign * x.hypot(height);
                let angle = (sign * x).atan2(sign * height) / cone;
                let narrowing = (radius / scale).powf(1.0 / cone);
                let latitude = widening(narrowing, earth.eccentricity());
                (
                    latitude.to_degrees(),
                    around((meridian + angle).to_degrees()),
                )
            }
        }
    }

    /// Returns what the CF conventions say of the projection.
    pub(super) fn described(&self) -> Projected {
        let degrees = |it: f64| Value::from((it.to_degrees() * 1e9).round() / 1e9);
        let zero = || Value::from(0.0);
        let mut axes = [
            vec![
                ("units", "m"),
                ("standard_name", "projection_y_coordinate"),
                ("axis", "Y"),
            ],
            vec![
                ("units", "m"),
                ("standard_name", "projection_x_coordinate"),
                ("axis", "X"),
            ],
        ];
        let (mut described, earth) = match *self {
            Self::Rotated { south, angle } => {
                axes = [
                    vec![
                        ("units", "degrees"),
                        ("standard_name", "grid_latitude"),
                        ("axis", "Y"),
                    ],
                    vec![
                        ("units", "degrees"),
                        ("standard_name", "grid_longitude"),
                        ("axis", "X"),
                    ],
                ];
                let described = mapping(&[
                    ("grid_mapping_name", "rotated_latitude_longitude".into()),
                    ("grid_north_pole_latitude", (-south.0).into()),
                    ("grid_north_pole_longitude", around(south.1 + 180.0).into()),
                    ("north_pole_grid_longitude", angle.into()),
                ]);
                (described, None)
            }
            Self::Mercator { earth, true_at, .. } => {
                let described = mapping(&[
                    ("grid_mapping_name", "mercator".into()),
                    ("standard_parallel", degrees(true_at)),
                    ("longitude_of_projection_origin", zero()),
                ]);
                (described, Some(earth))
            }
            Self::Polar {
                earth,
                true_at,
                meridian,
                is_south,
                ..
            } => {
                let pole = if is_south { -90.0 } else { 90.0 };
                let described = mapping(&[
                    ("grid_mapping_name", "polar_stereographic".into()),
                    ("latitude_of_projection_origin", pole.into()),
                    ("standard_parallel", degrees(true_at)),
                    ("straight_vertical_longitude_from_pole", degrees(meridian)),
                ]);
                (described, Some(earth))
            }
            Self::Lambert {
                earth,
                parallels: (one, other),
                latitude,
                meridian,
                ..
            } => {
                let parallels = match one == other {
                    true => degrees(one),
                    false => vec![degrees(one), degrees(other)].into(),
                };
                let described = mapping(&[
                    ("grid_mapping_name", "lambert_conformal_conic".into()),
                    ("standard_parallel", parallels),
                    ("latitude_of_projection_origin", degrees(latitude)),
                    ("longitude_of_central_meridian", degrees(meridian)),
                ]);
                (described, Some(earth))
            }
        };
        if let Some(earth) = earth {
            described.extend(mapping(&match earth.major == earth.minor {
                true => vec![("earth_radius", earth.major.into())],
                false => vec![
                    ("semi_major_axis", earth.major.into()),
                    ("semi_minor_axis", earth.minor.into()),
                ],
            }));
            described.extend(mapping(&[
                ("false_easting", zero()),
                ("false_northing", zero()),
            ]));
        }
        Projected {
            axes,
            mapping: described,
        }
    }
}

/// Returns the latitude and longitude of a point of a grid whose south pole lies elsewhere, all in degrees.
fn unrotated(south: (f64, f64), angle: f64, (latitude, longitude): (f64, f64)) -> (f64, f64) {
    let (latitude, longitude) = (latitude.to_radians(), (longitude + angle).to_radians());
    let (tilt, turn) = ((90.0 + south.0).to_radians(), south.1.to_radians());
    // The point on the unit sphere of the grid, tilted about the axis through the equator.
    let (x, y, z) = (
        longitude.cos() * latitude.cos(),
        longitude.sin() * latitude.cos(),
        latitude.sin(),
    );
    let (x, z) = (
        tilt.cos() * x - tilt.sin() * z,
        tilt.sin() * x + tilt.cos() * z,
    );
    let longitude = y.atan2(x) + turn;
    (
        z.clamp(-1.0, 1.0).asin().to_degrees(),
        around(longitude.to_degrees()),
    )
}

/// Attributes of a grid mapping.
fn mapping(pairs: &[(&str, Value)]) -> Map<String, Value> {
    let pairs = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WGS84: Earth = Earth {
        major: 6_378_137.0,
        minor: 6_356_752.314_245,
    };
    const SPHERE: Earth = Earth {
        major: 6_371_229.0,
        minor: 6_371_229.0,
    };

    #[test]
    fn projections_are_undone() {
        for earth in [WGS84, SPHERE] {
            let all = [
                Projection::mercator(earth, 20.0),
                Projection::polar(earth, 60.0, -45.0, false),
                Projection::polar(earth, 71.0, 10.0, true),
                Projection::polar(earth, 90.0, 0.0, false),
                Projection::lambert(earth, 25.0, -95.0, (25.0, 25.0)),
                Projection::lambert(earth, 48.0, 10.0, (30.0, 65.0)),
                Projection::lambert(earth, -30.0, 135.0, (-20.0, -60.0)),
            ];
            for projection in all {
                let projection = projection.expect("it can be had");
                for latitude in [-70.0, -10.0, 0.0, 33.5, 80.0] {
                    for longitude in [-170.0, -30.0, 0.0, 12.25, 150.0] {
                        let (x, y) = projection.forward(latitude, longitude);
                        let (lat, lon) = projection.inverse(x, y);
                        let turn = around(lon - longitude);
                        assert!(
                            (lat - latitude).abs() < 1e-8 && turn.abs() < 1e-8,
                            "{projection:?}: {latitude} {longitude} became {lat} {lon}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_worked_example_of_the_manual() {
        // Lambert's on Clarke's ellipsoid, page 296 of the manual: 35 N 75 W on parallels 33 and 45, from 23 N 96 W.
        let clarke = Earth {
            major: 6_378_206.4,
            minor: 6_356_583.8,
        };
        let projection = Projection::lambert(clarke, 23.0, -96.0, (33.0, 45.0));
        let (x, y) = projection.expect("it can be had").forward(35.0, -75.0);
        assert!((x - 1_894_410.9).abs() < 0.2, "{x}");
        assert!((y - 1_564_649.5).abs() < 0.2, "{y}");
    }

    #[test]
    fn more_examples_of_the_manual() {
        let ellipsoid = |major: f64, squared: f64| Earth {
            major,
            minor: major * (1.0 - squared).sqrt(),
        };
        // Page 267: Mercator's from the meridian 180; page 316: the south pole, true at 71 S, from 100 W.
        let mercator = Projection::mercator(ellipsoid(6_378_206.4, 0.006_768_66), 0.0);
        let (x, y) = mercator.expect("it can be had").forward(35.0, 105.0);
        assert!((x - 11_688_673.7).abs() < 0.5, "{x}");
        assert!((y - 4_139_145.6).abs() < 0.5, "{y}");
        let earth = ellipsoid(6_378_388.0, 0.006_722_67);
        let polar = Projection::polar(earth, -71.0, -100.0, true);
        let (x, y) = polar.expect("it can be had").forward(-75.0, 150.0);
        assert!((x + 1_540_033.6).abs() < 0.5, "{x}");
        assert!((y + 560_526.4).abs() < 0.5, "{y}");
    }

    #[test]
    fn what_makes_no_projection_is_refused() {
        assert!(Projection::lambert(WGS84, 0.0, 0.0, (30.0, -30.0)).is_err());
        assert!(Projection::mercator(WGS84, 90.0).is_err());
        assert!(Projection::polar(WGS84, 95.0, 0.0, false).is_err());
    }
}
