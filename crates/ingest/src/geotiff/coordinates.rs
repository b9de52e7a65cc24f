//! Where the pixels of an image are: coordinates of their centres.

use serde_json::{Map, Value, json};

use super::directory::Directory;
use super::geo_keys::GeoKeys;
use super::made::made_array;
use super::tag;
use crate::ArchiveArray;

/// Elements of a coordinate.
const MAX_LENGTH: u64 = 1 << 24;
const RECODED_LEVEL: i32 = 3;

/// From columns and rows to coordinates: `x = a + b * column + c * row`, `y = d + e * column + f * row`, at the corner of a pixel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transform([f64; 6]);

impl Transform {
    /// Reads where an image is. `is_point`: the numbers of the file are those of centres of pixels.
    ///
    /// # Errors
    /// Why it has no such transformation.
    pub(super) fn of(directory: &Directory, is_point: bool) -> Result<Self, String> {
        let floats = |tag: u16| directory.floats(tag).unwrap_or_default();
        let (scale, ties) = (floats(tag::PIXEL_SCALE), floats(tag::TIE_POINTS));
        let found = match (
            scale.as_slice(),
            ties.as_slice(),
            floats(tag::TRANSFORMATION).as_slice(),
        ) {
            ([x, y, ..], [column, row, _, east, north, ..], _) => {
                let down = -y.abs();
                [east - column * x, *x, 0.0, north - row * down, 0.0, down]
            }
            (_, _, [b, c, _, a, e, f, _, d, ..]) => [*a, *b, *c, *d, *e, *f],
            (_, [_, _, _, _, _, _, ..], _) => {
                return Err(
                    "it is placed by points without a scale, so that it has no coordinates"
                        .to_owned(),
                );
            }
            _ => {
                return Err("it does not say where it is, so that it has no coordinates".to_owned());
            }
        };
        let [mut a, b, c, mut d, e, f] = found;
        if is_point {
            a -= (b + c) / 2.0;
            d -= (e + f) / 2.0;
        }
        match [a, b, c, d, e, f].iter().all(|it| it.is_finite()) {
            true => Ok(Self([a, b, c, d, e, f])),
            false => Err("where it is is no number, so that it has no coordinates".to_owned()),
        }
    }

    /// Returns that of an image of which a pixel covers so many.
    pub(super) fn scaled(&self, (x, y): (f64, f64)) -> Self {
        let [a, b, c, d, e, f] = self.0;
        Self([a, b * x, c * y, d, e * x, f * y])
    }

    /// Returns it as GDAL writes it.
    pub(super) fn text(&self) -> String {
        self.0.map(|it| it.to_string()).join(" ")
    }

    /// Returns the coordinates along x and y.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn axes(
        &self,
        width: u64,
        height: u64,
        keys: &GeoKeys,
    ) -> Result<(ArchiveArray, ArchiveArray), String> {
        let [a, b, c, d, e, f] = self.0;
        if c != 0.0 || e != 0.0 {
            return Err("it is rotated, so that it has no coordinates along x and y".to_owned());
        }
        if width.max(height) > MAX_LENGTH {
            return Err(format!(
                "it has more than {MAX_LENGTH} columns or rows, and gets no coordinates"
            ));
        }
        let (x, y) = keys.axes();
        Ok((axis("x", (a, b), width, x)?, axis("y", (d, f), height, y)?))
    }
}

fn axis(
    name: &str,
    (start, step): (f64, f64),
    length: u64,
    attributes: Map<String, Value>,
) -> Result<ArchiveArray, String> {
    let centres = (0..length).map(|at| start + (at as f64 + 0.5) * step);
    let plain: Vec<u8> = centres.flat_map(f64::to_le_bytes).collect();
    let bytes = zstd::bulk::compress(&plain, RECODED_LEVEL).map_err(|error| error.to_string())?;
    let codecs = vec![
        json!({ "name": "bytes", "configuration": { "endian": "little" } }),
        json!({ "name": "zstd", "configuration": { "level": RECODED_LEVEL, "checksum": false } }),
    ];
    let made = (vec![length], vec![Some(name.to_owned())], bytes);
    Ok(made_array(
        "float64",
        json!("NaN"),
        codecs,
        made,
        attributes,
    ))
}
