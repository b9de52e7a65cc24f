//! Table 4.5: what surfaces are called, and which of them have values.

/// A kind of surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelKind {
    /// Its name in eccodes; the name of the dimension and of its coordinate.
    pub(super) name: &'static str,
    /// The name of a layer between two such surfaces.
    pub(super) layer: &'static str,
    /// The units of its values, and the power of ten between these and those of the file.
    pub(super) units: (&'static str, i32),
    pub(super) standard_name: Option<&'static str>,
    /// The attribute `positive`.
    pub(super) positive: Option<&'static str>,
    pub(super) long_name: &'static str,
}

/// Surfaces of which there are several, with values that tell them apart.
#[rustfmt::skip]
const WITH_VALUES: &[(u8, LevelKind)] = &[
    (20, kind("isothermal", "isothermalLayer", ("K", 0), None, None, "temperature of the surface")),
    (100, kind("isobaricInhPa", "isobaricLayer", ("hPa", 2), Some("air_pressure"), Some("down"), "pressure")),
    (102, kind("heightAboveSea", "heightAboveSeaLayer", ("m", 0), Some("altitude"), Some("up"), "height above mean sea level")),
    (103, kind("heightAboveGround", "heightAboveGroundLayer", ("m", 0), Some("height"), Some("up"), "height above the surface")),
    (104, kind("sigma", "sigmaLayer", ("1", 0), Some("atmosphere_sigma_coordinate"), Some("down"), "sigma level")),
    (105, kind("hybrid", "hybridLayer", ("1", 0), Some("atmosphere_hybrid_sigma_pressure_coordinate"), Some("down"), "hybrid level")),
    (106, kind("depthBelowLand", "depthBelowLandLayer", ("m", 0), Some("depth"), Some("down"), "depth below the land surface")),
    (107, kind("theta", "thetaLayer", ("K", 0), Some("air_potential_temperature"), Some("up"), "potential temperature")),
    (108, kind("pressureFromGround", "pressureFromGroundLayer", ("Pa", 0), None, Some("up"), "pressure difference from the ground")),
    (109, kind("potentialVorticity", "potentialVorticityLayer", ("K m2 kg-1 s-1", 0), Some("ertel_potential_vorticity"), None, "potential vorticity")),
    (111, kind("eta", "etaLayer", ("1", 0), None, Some("down"), "eta level")),
    (114, kind("snow", "snowLayer", ("1", 0), None, Some("down"), "snow level")),
    (115, kind("sigmaHeight", "sigmaHeightLayer", ("1", 0), None, Some("up"), "sigma height level")),
    (118, kind("hybridHeight", "hybridHeightLayer", ("1", 0), Some("atmosphere_hybrid_height_coordinate"), Some("up"), "hybrid height level")),
    (119, kind("hybridPressure", "hybridPressureLayer", ("1", 0), None, Some("down"), "hybrid pressure level")),
    (150, kind("generalVertical", "generalVerticalLayer", ("1", 0), Some("height"), Some("up"), "generalized vertical height")),
    (151, kind("soil", "soilLayer", ("1", 0), None, Some("down"), "soil level")),
    (152, kind("seaIce", "seaIceLayer", ("1", 0), None, Some("down"), "sea ice level")),
    (160, kind("depthBelowSea", "depthBelowSeaLayer", ("m", 0), Some("depth"), Some("down"), "depth below sea level")),
    (161, kind("depthBelowWaterSurface", "depthBelowWaterSurfaceLayer", ("m", 0), Some("depth"), Some("down"), "depth below the water surface")),
    (168, kind("oceanModel", "oceanModelLayer", ("1", 0), None, Some("down"), "ocean model level")),
];

/// Surfaces of which there is one.
const ALONE: &[(u8, &str)] = &[
    (1, "surface"),
    (2, "cloudBase"),
    (3, "cloudTop"),
    (4, "isothermZero"),
    (5, "adiabaticCondensation"),
    (6, "maxWind"),
    (7, "tropopause"),
    (8, "nominalTop"),
    (9, "seaBottom"),
    (10, "atmosphere"),
    (11, "cumulonimbusBase"),
    (12, "cumulonimbusTop"),
    (14, "freeConvection"),
    (17, "mostUnstableParcel"),
    (18, "mixedLayerParcel"),
    (101, "meanSea"),
    (117, "mixedLayerDepth"),
    (162, "lakeBottom"),
    (166, "mixingLayer"),
    (174, "iceTopOnWater"),
    (175, "iceBottomOnWater"),
    (200, "entireAtmosphere"),
    (201, "entireOcean"),
    (204, "highestTroposphericFreezing"),
    (206, "gridScaleCloudBottom"),
    (207, "gridScaleCloudTop"),
    (209, "boundaryLayerCloudBottom"),
    (210, "boundaryLayerCloudTop"),
    (211, "boundaryLayerCloudLayer"),
    (212, "lowCloudBottom"),
    (213, "lowCloudTop"),
    (214, "lowCloudLayer"),
    (215, "cloudCeiling"),
    (220, "planetaryBoundaryLayer"),
    (222, "middleCloudBottom"),
    (223, "middleCloudTop"),
    (224, "middleCloudLayer"),
    (232, "highCloudBottom"),
    (233, "highCloudTop"),
    (234, "highCloudLayer"),
    (242, "convectiveCloudBottom"),
    (243, "convectiveCloudTop"),
    (244, "convectiveCloudLayer"),
];

const fn kind(
    name: &'static str,
    layer: &'static str,
    units: (&'static str, i32),
    standard_name: Option<&'static str>,
    positive: Option<&'static str>,
    long_name: &'static str,
) -> LevelKind {
    LevelKind {
        name,
        layer,
        units,
        standard_name,
        positive,
        long_name,
    }
}

/// Returns a kind of surface that has values.
pub(super) fn with_values(number: u8) -> Option<&'static LevelKind> {
    let found = WITH_VALUES.iter().find(|(of, _)| *of == number);
    found.map(|(_, kind)| kind)
}

/// Returns what a kind of surface is called.
pub(super) fn level_name(number: u8, is_layer: bool) -> String {
    if let Some(kind) = with_values(number) {
        return if is_layer { kind.layer } else { kind.name }.to_owned();
    }
    let alone = ALONE.iter().find(|(of, _)| *of == number);
    alone.map_or_else(|| format!("level{number}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_there_once() {
        let numbers = WITH_VALUES.iter().map(|(number, _)| *number);
        let mut numbers: Vec<u8> = numbers.chain(ALONE.iter().map(|(it, _)| *it)).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert_eq!(level_name(100, false), "isobaricInhPa");
        assert_eq!(level_name(106, true), "depthBelowLandLayer");
        assert_eq!(level_name(250, false), "level250");
    }
}
