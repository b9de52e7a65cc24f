//! The keys of GeoTIFF: which coordinates those of an image are.

use serde_json::{Map, Value, json};

use super::directory::Directory;
use super::made::made_array;
use super::tag;
use crate::ArchiveArray;
use crate::archive::values::number;

const MODEL: u16 = 1024;
const RASTER: u16 = 1025;
const GEOGRAPHIC: u16 = 2048;
const SEMI_MAJOR: u16 = 2057;
const INVERSE_FLATTENING: u16 = 2059;
const PROJECTED: u16 = 3072;
const LINEAR_UNITS: u16 = 3076;
/// Codes of those that a user defined begin here.
const USER_DEFINED: u64 = 32_767;

/// Keys by number.
#[derive(Clone, Debug, Default)]
pub(super) struct GeoKeys(Vec<(u16, Value)>);

impl GeoKeys {
    /// Reads the keys; those whose values are not there are left out.
    pub(super) fn of(directory: &Directory) -> Self {
        let all = directory.numbers(tag::GEO_KEYS).unwrap_or_default();
        let floats = directory.floats(tag::GEO_FLOATS).unwrap_or_default();
        let texts = directory.bytes(tag::GEO_TEXTS).unwrap_or_default();
        let keys = all.get(4..).unwrap_or_default().chunks_exact(4);
        let keys = keys.filter_map(|key| {
            let [id, place, count, value] = *key else {
                return None;
            };
            let (from, count) = (value as usize, count as usize);
            let range = from..from.checked_add(count)?;
            let value = match u16::try_from(place).ok()? {
                0 => value.into(),
                tag::GEO_FLOATS => {
                    let values = floats.get(range)?.iter().map(|it| number(*it));
                    crate::archive::values::one_or_list(values.collect())
                }
                tag::GEO_TEXTS => {
                    // Each ends with a bar, that others may follow.
                    let text = crate::archive::values::text(texts.get(range)?);
                    text.trim_end_matches('|').into()
                }
                tag::GEO_KEYS => {
                    let values = all.get(range)?.iter().map(|it| Value::from(*it));
                    crate::archive::values::one_or_list(values.collect())
                }
                _ => return None,
            };
            Some((u16::try_from(id).ok()?, value))
        });
        Self(keys.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, id: u16) -> Option<&Value> {
        self.0.iter().find(|it| it.0 == id).map(|it| &it.1)
    }

    /// Returns the value of a key that is a code of EPSG.
    fn code(&self, id: u16) -> Option<u64> {
        let code = self.get(id)?.as_u64()?;
        (code > 0 && code < USER_DEFINED).then_some(code)
    }

    /// Tells whether the numbers of the file are those of centres of pixels.
    pub(super) fn is_point(&self) -> bool {
        self.get(RASTER) == Some(&json!(2))
    }

    fn is_geographic(&self) -> bool {
        self.get(MODEL) == Some(&json!(2))
    }

    /// Returns the attributes of the coordinates along x and y.
    pub(super) fn axes(&self) -> (Map<String, Value>, Map<String, Value>) {
        let words = match (self.is_geographic(), self.get(MODEL)) {
            (true, _) => [("longitude", "degrees_east"), ("latitude", "degrees_north")],
            (false, Some(_)) => {
                let units = match self.get(LINEAR_UNITS).and_then(Value::as_u64) {
                    None | Some(9001) => "metre",
                    Some(9002) => "foot",
                    Some(9003) => "US_survey_foot",
                    Some(_) => "",
                };
                [
                    ("projection_x_coordinate", units),
                    ("projection_y_coordinate", units),
                ]
            }
            (false, None) => [("", ""), ("", "")],
        };
        let [x, y] = words.map(|(name, units)| {
            let pairs = [("standard_name", name), ("units", units)];
            let pairs = pairs.iter().filter(|it| !it.1.is_empty());
            pairs
                .map(|(key, value)| ((*key).to_owned(), Value::from(*value)))
                .collect()
        });
        let with = |mut map: Map<String, Value>, axis: &str| {
            map.insert("axis".to_owned(), axis.into());
            map
        };
        (with(x, "X"), with(y, "Y"))
    }

    /// Returns the grid mapping: a number that means nothing, with attributes.
    pub(super) fn grid_mapping(&self, geo_transform: Option<String>) -> ArchiveArray {
        let mut map = Map::new();
        if self.is_geographic() {
            map.insert("grid_mapping_name".to_owned(), "latitude_longitude".into());
            for (id, name) in [
                (SEMI_MAJOR, "semi_major_axis"),
                (INVERSE_FLATTENING, "inverse_flattening"),
            ] {
                if let Some(value) = self.get(id) {
                    map.insert(name.to_owned(), value.clone());
                }
            }
        }
        let code = self.code(PROJECTED);
        let code = code.or_else(|| self.code(GEOGRAPHIC).filter(|_| self.is_geographic()));
        if let Some(code) = code {
            map.insert("spatial_ref".to_owned(), format!("EPSG:{code}").into());
        }
        if let Some(text) = geo_transform {
            map.insert("GeoTransform".to_owned(), text.into());
        }
        for (id, value) in &self.0 {
            map.insert(name(*id), value.clone());
        }
        let codecs = vec![json!({ "name": "bytes", "configuration": { "endian": "little" } })];
        let made = (Vec::new(), Vec::new(), vec![0; 8]);
        made_array("int64", json!(0), codecs, made, map)
    }
}

/// Returns the name of a key in the specification.
fn name(id: u16) -> String {
    let name = match id {
        MODEL => "GTModelTypeGeoKey",
        RASTER => "GTRasterTypeGeoKey",
        1026 => "GTCitationGeoKey",
        GEOGRAPHIC => "GeodeticCRSGeoKey",
        2049 => "GeodeticCitationGeoKey",
        2050 => "GeodeticDatumGeoKey",
        2051 => "PrimeMeridianGeoKey",
        2052 => "GeogLinearUnitsGeoKey",
        2053 => "GeogLinearUnitSizeGeoKey",
        2054 => "GeogAngularUnitsGeoKey",
        2055 => "GeogAngularUnitSizeGeoKey",
        2056 => "EllipsoidGeoKey",
        SEMI_MAJOR => "EllipsoidSemiMajorAxisGeoKey",
        2058 => "EllipsoidSemiMinorAxisGeoKey",
        INVERSE_FLATTENING => "EllipsoidInvFlatteningGeoKey",
        2060 => "GeogAzimuthUnitsGeoKey",
        2061 => "PrimeMeridianLongitudeGeoKey",
        2062 => "GeogTOWGS84GeoKey",
        PROJECTED => "ProjectedCRSGeoKey",
        3073 => "ProjectedCitationGeoKey",
        3074 => "ProjectionGeoKey",
        3075 => "ProjMethodGeoKey",
        LINEAR_UNITS => "ProjLinearUnitsGeoKey",
        3077 => "ProjLinearUnitSizeGeoKey",
        3078 => "ProjStdParallel1GeoKey",
        3079 => "ProjStdParallel2GeoKey",
        3080 => "ProjNatOriginLongGeoKey",
        3081 => "ProjNatOriginLatGeoKey",
        3082 => "ProjFalseEastingGeoKey",
        3083 => "ProjFalseNorthingGeoKey",
        3084 => "ProjFalseOriginLongGeoKey",
        3085 => "ProjFalseOriginLatGeoKey",
        3086 => "ProjFalseOriginEastingGeoKey",
        3087 => "ProjFalseOriginNorthingGeoKey",
        3088 => "ProjCenterLongGeoKey",
        3089 => "ProjCenterLatGeoKey",
        3090 => "ProjCenterEastingGeoKey",
        3091 => "ProjCenterNorthingGeoKey",
        3092 => "ProjScaleAtNatOriginGeoKey",
        3093 => "ProjScaleAtCenterGeoKey",
        3094 => "ProjAzimuthAngleGeoKey",
        3095 => "ProjStraightVertPoleLongGeoKey",
        4096 => "VerticalGeoKey",
        4097 => "VerticalCitationGeoKey",
        4098 => "VerticalDatumGeoKey",
        4099 => "VerticalUnitsGeoKey",
        other => return format!("GeoKey{other}"),
    };
    name.to_owned()
}
