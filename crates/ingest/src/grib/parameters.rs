//! Table 4.2: what parameters are called, and in which units they are.
//!
//! The names are the short ones that programs for the CF conventions have come to expect, the standard names those of the CF
//! table.

use super::product::Parameter;

/// The name of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedParameter {
    pub(super) name: &'static str,
    pub(super) units: &'static str,
    pub(super) long_name: &'static str,
    pub(super) standard_name: Option<&'static str>,
}

/// A row: discipline, category and number; on which level it is called so; the name, units, long name and standard name,
/// which may be empty.
type Row = (
    (u8, u8, u8),
    On,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// On which level, and of which statistic, a parameter has a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Any,
    /// This many metres above the ground.
    Metres(i32),
    /// The same, of this statistic of table 4.10.
    Extreme(i32, u8),
    /// A kind of surface.
    ProductKind(u8),
    /// A statistic on any level.
    Statistic(u8),
}

/// The accumulation of table 4.10.
const ACCUMULATION: u8 = 1;

use On::{Any, Extreme, Metres, ProductKind, Statistic};

// Rows for one level come before those for any.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Temperature.
    ((0, 0, 0), Extreme(2, 2), "mx2t", "K", "Maximum temperature at 2 metres", "air_temperature"),
    ((0, 0, 0), Extreme(2, 3), "mn2t", "K", "Minimum temperature at 2 metres", "air_temperature"),
    ((0, 0, 0), Metres(2), "t2m", "K", "2 metre temperature", "air_temperature"),
    ((0, 0, 0), ProductKind(106), "stl", "K", "Soil temperature", "soil_temperature"),
    ((0, 0, 0), Any, "t", "K", "Temperature", "air_temperature"),
    ((0, 0, 1), Any, "vtmp", "K", "Virtual temperature", "virtual_temperature"),
    ((0, 0, 2), Any, "pt", "K", "Potential temperature", "air_potential_temperature"),
    ((0, 0, 3), Any, "papt", "K", "Pseudo-adiabatic potential temperature", "wet_bulb_potential_temperature"),
    ((0, 0, 4), Any, "tmax", "K", "Maximum temperature", "air_temperature"),
    ((0, 0, 5), Any, "tmin", "K", "Minimum temperature", "air_temperature"),
    ((0, 0, 6), Metres(2), "d2m", "K", "2 metre dewpoint temperature", "dew_point_temperature"),
    ((0, 0, 6), Any, "dpt", "K", "Dew point temperature", "dew_point_temperature"),
    ((0, 0, 7), Any, "depr", "K", "Dew point depression", "dew_point_depression"),
    ((0, 0, 8), Any, "lapr", "K m-1", "Lapse rate", "air_temperature_lapse_rate"),
    ((0, 0, 9), Any, "tmpa", "K", "Temperature anomaly", "air_temperature_anomaly"),
    ((0, 0, 10), Any, "slhtf", "W m-2", "Latent heat net flux", "surface_upward_latent_heat_flux"),
    ((0, 0, 11), Any, "ishf", "W m-2", "Sensible heat net flux", "surface_upward_sensible_heat_flux"),
    ((0, 0, 12), Any, "heatx", "K", "Heat index", ""),
    ((0, 0, 13), Any, "wcf", "K", "Wind chill factor", "wind_chill_of_air_temperature"),
    ((0, 0, 17), Any, "skt", "K", "Skin temperature", "surface_temperature"),
    ((0, 0, 18), Any, "tsn", "K", "Temperature of snow layer", "temperature_in_surface_snow"),
    ((0, 0, 21), Any, "aptmp", "K", "Apparent temperature", "apparent_air_temperature"),
    ((0, 0, 27), Any, "wbt", "K", "Wet bulb temperature", "wet_bulb_temperature"),
    ((0, 0, 28), Any, "wtmp", "K", "Unbalanced component of temperature", ""),
    // Moisture.
    ((0, 1, 0), Metres(2), "sh2", "kg kg-1", "2 metre specific humidity", "specific_humidity"),
    ((0, 1, 0), Any, "q", "kg kg-1", "Specific humidity", "specific_humidity"),
    ((0, 1, 1), Metres(2), "r2", "%", "2 metre relative humidity", "relative_humidity"),
    ((0, 1, 1), Any, "r", "%", "Relative humidity", "relative_humidity"),
    ((0, 1, 2), Any, "mixr", "kg kg-1", "Humidity mixing ratio", "humidity_mixing_ratio"),
    ((0, 1, 3), Any, "pwat", "kg m-2", "Precipitable water", "atmosphere_mass_content_of_water_vapor"),
    ((0, 1, 4), Any, "vapp", "Pa", "Vapour pressure", "water_vapor_partial_pressure_in_air"),
    ((0, 1, 5), Any, "satd", "Pa", "Saturation deficit", "water_vapor_saturation_deficit_in_air"),
    ((0, 1, 6), Any, "e", "kg m-2", "Evaporation", "water_evapotranspiration_amount"),
    ((0, 1, 7), Any, "prate", "kg m-2 s-1", "Precipitation rate", "precipitation_flux"),
    ((0, 1, 8), Any, "tp", "kg m-2", "Total precipitation", "precipitation_amount"),
    ((0, 1, 9), Any, "lsp", "kg m-2", "Large-scale precipitation", "stratiform_precipitation_amount"),
    ((0, 1, 10), Any, "acpcp", "kg m-2", "Convective precipitation", "convective_precipitation_amount"),
    ((0, 1, 11), Any, "sde", "m", "Snow depth", "surface_snow_thickness"),
    ((0, 1, 12), Any, "srweq", "kg m-2 s-1", "Snowfall rate water equivalent", "snowfall_flux"),
    ((0, 1, 13), Any, "sdwe", "kg m-2", "Water equivalent of accumulated snow depth", "surface_snow_amount"),
    ((0, 1, 14), Any, "csf", "kg m-2", "Convective snow", "convective_snowfall_amount"),
    ((0, 1, 15), Any, "lsf", "kg m-2", "Large-scale snow", "stratiform_snowfall_amount"),
    ((0, 1, 16), Any, "snom", "kg m-2", "Snow melt", "surface_snow_melt_amount"),
    ((0, 1, 17), Any, "snowage", "day", "Snow age", "age_of_surface_snow"),
    ((0, 1, 18), Any, "absh", "kg m-3", "Absolute humidity", "mass_concentration_of_water_vapor_in_air"),
    ((0, 1, 19), Any, "ptype", "1", "Precipitation type", ""),
    ((0, 1, 20), Any, "iliqw", "kg m-2", "Integrated liquid water", "atmosphere_cloud_liquid_water_content"),
    ((0, 1, 22), Any, "clwmr", "kg kg-1", "Cloud mixing ratio", "cloud_liquid_water_mixing_ratio"),
    ((0, 1, 23), Any, "icmr", "kg kg-1", "Ice water mixing ratio", "cloud_ice_mixing_ratio"),
    ((0, 1, 24), Any, "rwmr", "kg kg-1", "Rain mixing ratio", ""),
    ((0, 1, 25), Any, "snmr", "kg kg-1", "Snow mixing ratio", ""),
    ((0, 1, 29), Any, "asnow", "m", "Total snowfall", "thickness_of_snowfall_amount"),
    ((0, 1, 32), Any, "grle", "kg kg-1", "Graupel mixing ratio", ""),
    ((0, 1, 37), Any, "cprat", "kg m-2 s-1", "Convective precipitation rate", "convective_precipitation_flux"),
    ((0, 1, 39), Any, "cpofp", "%", "Percent frozen precipitation", ""),
    ((0, 1, 42), Any, "snowc", "%", "Snow cover", "surface_snow_area_fraction"),
    ((0, 1, 49), Any, "twatp", "kg m-2", "Total water precipitation", "precipitation_amount"),
    ((0, 1, 51), Any, "tcw", "kg m-2", "Total column water", "atmosphere_mass_content_of_water"),
    ((0, 1, 52), Any, "tprate", "kg m-2 s-1", "Total precipitation rate", "precipitation_flux"),
    ((0, 1, 53), Any, "tsrwe", "kg m-2 s-1", "Total snowfall rate water equivalent", "snowfall_flux"),
    ((0, 1, 54), Any, "lsprate", "kg m-2 s-1", "Large-scale precipitation rate", "stratiform_precipitation_flux"),
    ((0, 1, 60), Any, "sd", "kg m-2", "Snow depth water equivalent", "surface_snow_amount"),
    ((0, 1, 61), Any, "rsn", "kg m-3", "Snow density", "snow_density"),
    ((0, 1, 64), Any, "tcwv", "kg m-2", "Total column vertically-integrated water vapour", "atmosphere_mass_content_of_water_vapor"),
    ((0, 1, 65), Any, "rprate", "kg m-2 s-1", "Rain precipitation rate", "rainfall_flux"),
    ((0, 1, 66), Any, "sprate", "kg m-2 s-1", "Snow precipitation rate", "snowfall_flux"),
    ((0, 1, 69), Any, "tclw", "kg m-2", "Total column cloud liquid water", "atmosphere_mass_content_of_cloud_liquid_water"),
    ((0, 1, 70), Any, "tciw", "kg m-2", "Total column cloud ice water", "atmosphere_mass_content_of_cloud_ice"),
    ((0, 1, 82), Any, "cimixr", "kg kg-1", "Cloud ice mixing ratio", "cloud_ice_mixing_ratio"),
    ((0, 1, 83), Any, "clwc", "kg kg-1", "Specific cloud liquid water content", "mass_fraction_of_cloud_liquid_water_in_air"),
    ((0, 1, 84), Any, "ciwc", "kg kg-1", "Specific cloud ice water content", "mass_fraction_of_cloud_ice_in_air"),
    ((0, 1, 85), Any, "crwc", "kg kg-1", "Specific rain water content", ""),
    ((0, 1, 86), Any, "cswc", "kg kg-1", "Specific snow water content", ""),
    ((0, 1, 33), Any, "crain", "1", "Categorical rain", ""),
    ((0, 1, 34), Any, "cfrzr", "1", "Categorical freezing rain", ""),
    ((0, 1, 35), Any, "cicep", "1", "Categorical ice pellets", ""),
    ((0, 1, 36), Any, "csnow", "1", "Categorical snow", ""),
    // Momentum.
    ((0, 2, 0), Metres(10), "wdir10", "degree", "10 metre wind direction", "wind_from_direction"),
    ((0, 2, 0), Any, "wdir", "degree", "Wind direction", "wind_from_direction"),
    ((0, 2, 1), Metres(10), "si10", "m s-1", "10 metre wind speed", "wind_speed"),
    ((0, 2, 1), Any, "ws", "m s-1", "Wind speed", "wind_speed"),
    ((0, 2, 2), Metres(10), "u10", "m s-1", "10 metre U wind component", "eastward_wind"),
    ((0, 2, 2), Metres(100), "u100", "m s-1", "100 metre U wind component", "eastward_wind"),
    ((0, 2, 2), Any, "u", "m s-1", "U component of wind", "eastward_wind"),
    ((0, 2, 3), Metres(10), "v10", "m s-1", "10 metre V wind component", "northward_wind"),
    ((0, 2, 3), Metres(100), "v100", "m s-1", "100 metre V wind component", "northward_wind"),
    ((0, 2, 3), Any, "v", "m s-1", "V component of wind", "northward_wind"),
    ((0, 2, 4), Any, "strf", "m2 s-1", "Stream function", "atmosphere_horizontal_streamfunction"),
    ((0, 2, 5), Any, "vp", "m2 s-1", "Velocity potential", "atmosphere_horizontal_velocity_potential"),
    ((0, 2, 8), Any, "w", "Pa s-1", "Vertical velocity", "lagrangian_tendency_of_air_pressure"),
    ((0, 2, 9), Any, "wz", "m s-1", "Geometric vertical velocity", "upward_air_velocity"),
    ((0, 2, 10), Any, "absv", "s-1", "Absolute vorticity", "atmosphere_absolute_vorticity"),
    ((0, 2, 11), Any, "absd", "s-1", "Absolute divergence", ""),
    ((0, 2, 12), Any, "vo", "s-1", "Vorticity (relative)", "atmosphere_relative_vorticity"),
    ((0, 2, 13), Any, "d", "s-1", "Divergence", "divergence_of_wind"),
    ((0, 2, 14), Any, "pv", "K m2 kg-1 s-1", "Potential vorticity", "ertel_potential_vorticity"),
    ((0, 2, 17), Any, "iews", "N m-2", "Momentum flux, u component", "surface_downward_eastward_stress"),
    ((0, 2, 18), Any, "inss", "N m-2", "Momentum flux, v component", "surface_downward_northward_stress"),
    ((0, 2, 19), Any, "wmixe", "J", "Wind mixing energy", ""),
    ((0, 2, 20), Any, "bld", "W m-2", "Boundary layer dissipation", ""),
    ((0, 2, 21), Any, "maxgust", "m s-1", "Maximum wind speed", "wind_speed"),
    ((0, 2, 22), Metres(10), "fg10", "m s-1", "10 metre wind gust", "wind_speed_of_gust"),
    ((0, 2, 22), Any, "gust", "m s-1", "Wind speed (gust)", "wind_speed_of_gust"),
    ((0, 2, 25), Any, "vwsh", "s-1", "Vertical speed shear", ""),
    ((0, 2, 27), Any, "ustm", "m s-1", "U-component storm motion", ""),
    ((0, 2, 28), Any, "vstm", "m s-1", "V-component storm motion", ""),
    ((0, 2, 30), Any, "fricv", "m s-1", "Frictional velocity", ""),
    // Mass.
    ((0, 3, 0), ProductKind(1), "sp", "Pa", "Surface pressure", "surface_air_pressure"),
    ((0, 3, 0), ProductKind(101), "msl", "Pa", "Mean sea level pressure", "air_pressure_at_mean_sea_level"),
    ((0, 3, 0), Any, "pres", "Pa", "Pressure", "air_pressure"),
    ((0, 3, 1), Any, "prmsl", "Pa", "Pressure reduced to MSL", "air_pressure_at_mean_sea_level"),
    ((0, 3, 2), Any, "ptend", "Pa s-1", "Pressure tendency", "tendency_of_air_pressure"),
    ((0, 3, 3), Any, "icaht", "m", "ICAO Standard Atmosphere reference height", ""),
    ((0, 3, 4), Any, "z", "m2 s-2", "Geopotential", "geopotential"),
    ((0, 3, 5), ProductKind(1), "orog", "gpm", "Orography", "surface_altitude"),
    ((0, 3, 5), Any, "gh", "gpm", "Geopotential height", "geopotential_height"),
    ((0, 3, 6), Any, "h", "m", "Geometrical height", "altitude"),
    ((0, 3, 7), Any, "hstdv", "m", "Standard deviation of height", ""),
    ((0, 3, 8), Any, "presa", "Pa", "Pressure anomaly", "air_pressure_anomaly"),
    ((0, 3, 9), Any, "gpa", "gpm", "Geopotential height anomaly", "geopotential_height_anomaly"),
    ((0, 3, 10), Any, "den", "kg m-3", "Density", "air_density"),
    ((0, 3, 11), Any, "alts", "Pa", "Altimeter setting", ""),
    ((0, 3, 18), Any, "blh", "m", "Boundary layer height", "atmosphere_boundary_layer_thickness"),
    ((0, 3, 25), Any, "lnsp", "1", "Logarithm of surface pressure", ""),
    // Radiation.
    ((0, 4, 0), Any, "nswrs", "W m-2", "Net short-wave radiation flux (surface)", "surface_net_downward_shortwave_flux"),
    ((0, 4, 1), Any, "nswrt", "W m-2", "Net short-wave radiation flux (top of atmosphere)", "toa_net_downward_shortwave_flux"),
    ((0, 4, 2), Any, "swavr", "W m-2", "Short-wave radiation flux", ""),
    ((0, 4, 3), Any, "grad", "W m-2", "Global radiation flux", ""),
    ((0, 4, 7), Statistic(ACCUMULATION), "ssrd", "J m-2", "Surface short-wave radiation downwards", "surface_downwelling_shortwave_flux_in_air"),
    ((0, 4, 7), Any, "dswrf", "W m-2", "Downward short-wave radiation flux", "surface_downwelling_shortwave_flux_in_air"),
    ((0, 4, 8), Any, "uswrf", "W m-2", "Upward short-wave radiation flux", "upwelling_shortwave_flux_in_air"),
    ((0, 4, 9), Statistic(ACCUMULATION), "ssr", "J m-2", "Net short-wave radiation", "surface_net_downward_shortwave_flux"),
    ((0, 4, 9), Any, "nswrf", "W m-2", "Net short-wave radiation flux", "surface_net_downward_shortwave_flux"),
    ((0, 4, 10), Any, "photar", "W m-2", "Photosynthetically active radiation", "surface_downwelling_photosynthetic_radiative_flux_in_air"),
    ((0, 4, 51), Any, "uvi", "1", "UV index", "ultraviolet_index"),
    ((0, 5, 0), Any, "nlwrs", "W m-2", "Net long-wave radiation flux (surface)", "surface_net_downward_longwave_flux"),
    ((0, 5, 1), Any, "nlwrt", "W m-2", "Net long-wave radiation flux (top of atmosphere)", "toa_outgoing_longwave_flux"),
    ((0, 5, 3), Statistic(ACCUMULATION), "strd", "J m-2", "Surface long-wave radiation downwards", "surface_downwelling_longwave_flux_in_air"),
    ((0, 5, 3), Any, "dlwrf", "W m-2", "Downward long-wave radiation flux", "surface_downwelling_longwave_flux_in_air"),
    ((0, 5, 4), Any, "ulwrf", "W m-2", "Upward long-wave radiation flux", "upwelling_longwave_flux_in_air"),
    ((0, 5, 5), Statistic(ACCUMULATION), "str", "J m-2", "Net long-wave radiation", "surface_net_downward_longwave_flux"),
    ((0, 5, 5), Any, "nlwrf", "W m-2", "Net long-wave radiation flux", "surface_net_downward_longwave_flux"),
    // Cloud.
    ((0, 6, 0), Any, "cice", "kg m-2", "Cloud ice", "atmosphere_mass_content_of_cloud_ice"),
    ((0, 6, 1), Any, "tcc", "%", "Total cloud cover", "cloud_area_fraction"),
    ((0, 6, 2), Any, "ccc", "%", "Convective cloud cover", "convective_cloud_area_fraction"),
    ((0, 6, 3), Any, "lcc", "%", "Low cloud cover", "low_type_cloud_area_fraction"),
    ((0, 6, 4), Any, "mcc", "%", "Medium cloud cover", "medium_type_cloud_area_fraction"),
    ((0, 6, 5), Any, "hcc", "%", "High cloud cover", "high_type_cloud_area_fraction"),
    ((0, 6, 6), Any, "cwat", "kg m-2", "Cloud water", "atmosphere_cloud_condensed_water_content"),
    ((0, 6, 11), Any, "cdct", "m", "Cloud top", "cloud_top_altitude"),
    ((0, 6, 12), Any, "cdcb", "m", "Cloud bottom", "cloud_base_altitude"),
    ((0, 6, 13), Any, "ceil", "m", "Ceiling", ""),
    ((0, 6, 22), Any, "cloudf", "%", "Cloud cover", "cloud_area_fraction_in_atmosphere_layer"),
    ((0, 6, 32), Any, "cc", "1", "Fraction of cloud cover", "cloud_area_fraction_in_atmosphere_layer"),
    // Stability.
    ((0, 7, 0), Any, "pli", "K", "Parcel lifted index (to 500 hPa)", "temperature_difference_between_ambient_air_and_air_lifted_adiabatically"),
    ((0, 7, 1), Any, "bli", "K", "Best lifted index (to 500 hPa)", ""),
    ((0, 7, 2), Any, "kx", "K", "K index", "atmosphere_stability_k_index"),
    ((0, 7, 4), Any, "totalx", "K", "Total totals index", "atmosphere_stability_total_totals_index"),
    ((0, 7, 6), Any, "cape", "J kg-1", "Convective available potential energy", "atmosphere_convective_available_potential_energy"),
    ((0, 7, 7), Any, "cin", "J kg-1", "Convective inhibition", "atmosphere_convective_inhibition"),
    ((0, 7, 8), Any, "hlcy", "m2 s-2", "Storm relative helicity", ""),
    ((0, 7, 10), Any, "lftx", "K", "Surface lifted index", ""),
    ((0, 7, 11), Any, "blftx", "K", "Best (4-layer) lifted index", ""),
    // Aerosol, trace gases, radar.
    ((0, 13, 0), Any, "aerot", "1", "Aerosol type", ""),
    ((0, 14, 0), Any, "toz", "DU", "Total ozone", "equivalent_thickness_at_stp_of_atmosphere_ozone_content"),
    ((0, 14, 1), Any, "o3mr", "kg kg-1", "Ozone mixing ratio", "mass_fraction_of_ozone_in_air"),
    ((0, 14, 2), Any, "tcioz", "DU", "Total column integrated ozone", "equivalent_thickness_at_stp_of_atmosphere_ozone_content"),
    ((0, 16, 4), Any, "refd", "dBZ", "Reflectivity", "equivalent_reflectivity_factor"),
    ((0, 16, 5), Any, "refc", "dBZ", "Composite reflectivity", "equivalent_reflectivity_factor"),
    ((0, 19, 0), Any, "vis", "m", "Visibility", "visibility_in_air"),
    ((0, 19, 1), Any, "al", "%", "Albedo", "surface_albedo"),
    ((0, 19, 2), Any, "tstm", "%", "Thunderstorm probability", ""),
    // Hydrology.
    ((1, 0, 5), Any, "bgrun", "kg m-2", "Base flow-groundwater runoff", ""),
    ((1, 0, 6), Any, "ssrun", "kg m-2", "Storm surface runoff", ""),
    ((1, 0, 7), Any, "dis", "m3 s-1", "Discharge", "water_volume_transport_in_river_channel"),
    // Land.
    ((2, 0, 0), Any, "lsm", "1", "Land-sea mask", "land_binary_mask"),
    ((2, 0, 1), Any, "fsr", "m", "Surface roughness", "surface_roughness_length"),
    ((2, 0, 2), Any, "st", "K", "Soil temperature", "soil_temperature"),
    ((2, 0, 3), Any, "smc", "kg m-2", "Soil moisture content", "mass_content_of_water_in_soil_layer"),
    ((2, 0, 4), Any, "veg", "%", "Vegetation", "vegetation_area_fraction"),
    ((2, 0, 5), Any, "watr", "kg m-2", "Water runoff", "runoff_amount"),
    ((2, 0, 7), Any, "terrain", "m", "Model terrain height", "surface_altitude"),
    ((2, 0, 8), Any, "vgtyp", "1", "Vegetation type", ""),
    ((2, 0, 9), Any, "mstav", "%", "Moisture availability", ""),
    ((2, 0, 10), Any, "gflux", "W m-2", "Ground heat flux", "downward_heat_flux_in_soil"),
    ((2, 0, 13), Any, "cnwat", "kg m-2", "Plant canopy surface water", "canopy_water_amount"),
    ((2, 0, 22), Any, "soilm", "kg m-3", "Soil moisture", "moisture_content_of_soil_layer"),
    ((2, 0, 25), Any, "vsw", "m3 m-3", "Volumetric soil moisture", "volume_fraction_of_condensed_water_in_soil"),
    ((2, 0, 28), Any, "lai", "1", "Leaf area index", "leaf_area_index"),
    ((2, 0, 33), Any, "ro", "kg m-2", "Runoff", "runoff_amount"),
    ((2, 3, 0), Any, "slt", "1", "Soil type", "soil_type"),
    ((2, 3, 18), Any, "sot", "K", "Soil temperature", "soil_temperature"),
    ((2, 3, 28), Any, "tsn", "K", "Temperature of snow layer", "temperature_in_surface_snow"),
    ((2, 3, 20), Any, "swv", "m3 m-3", "Volumetric soil moisture", "volume_fraction_of_condensed_water_in_soil"),
    // Waves and ocean.
    ((10, 0, 3), Any, "swh", "m", "Significant height of combined wind waves and swell", "sea_surface_wave_significant_height"),
    ((10, 0, 4), Any, "wvdir", "degree", "Direction of wind waves", "sea_surface_wind_wave_from_direction"),
    ((10, 0, 5), Any, "shww", "m", "Significant height of wind waves", "sea_surface_wind_wave_significant_height"),
    ((10, 0, 6), Any, "mpww", "s", "Mean period of wind waves", "sea_surface_wind_wave_period"),
    ((10, 0, 7), Any, "swdir", "degree", "Direction of swell waves", "sea_surface_swell_wave_from_direction"),
    ((10, 0, 8), Any, "shts", "m", "Significant height of total swell", "sea_surface_swell_wave_significant_height"),
    ((10, 0, 9), Any, "mpts", "s", "Mean period of total swell", "sea_surface_swell_wave_period"),
    ((10, 0, 10), Any, "dirpw", "degree", "Primary wave direction", "sea_surface_wave_from_direction"),
    ((10, 0, 11), Any, "perpw", "s", "Primary wave mean period", "sea_surface_wave_mean_period"),
    ((10, 0, 14), Any, "mwd", "degree", "Mean wave direction", "sea_surface_wave_from_direction"),
    ((10, 0, 15), Any, "mwp", "s", "Mean wave period", "sea_surface_wave_mean_period"),
    ((10, 1, 1), Any, "cspeed", "m s-1", "Current speed", "sea_water_speed"),
    ((10, 1, 2), Any, "ocu", "m s-1", "U-component of current", "eastward_sea_water_velocity"),
    ((10, 1, 3), Any, "ocv", "m s-1", "V-component of current", "northward_sea_water_velocity"),
    ((10, 2, 0), Any, "siconc", "1", "Sea ice area fraction", "sea_ice_area_fraction"),
    ((10, 2, 1), Any, "sithick", "m", "Sea ice thickness", "sea_ice_thickness"),
    ((10, 3, 0), Any, "sst", "K", "Sea surface temperature", "sea_surface_temperature"),
    ((10, 3, 1), Any, "ssh", "m", "Deviation of sea level from mean", "sea_surface_height_above_mean_sea_level"),
    ((10, 4, 3), Any, "so", "1e-3", "Salinity", "sea_water_salinity"),
    ((10, 4, 21), Any, "so", "1e-3", "Practical salinity", "sea_water_practical_salinity"),
    ((10, 4, 18), Any, "thetao", "K", "Sea water potential temperature", "sea_water_potential_temperature"),
];

/// The numbers of centres.
const NCEP: u16 = 7;
const ECMWF: u16 = 98;

/// Parameters of centres: the tables of WMO leave the numbers from 192 on to them.
#[rustfmt::skip]
const LOCAL: &[(u16, Row)] = &[
    (NCEP, ((0, 0, 192), Any, "snohf", "W m-2", "Snow phase change heat flux", "")),
    (NCEP, ((0, 1, 192), Any, "crain", "1", "Categorical rain", "")),
    (NCEP, ((0, 1, 193), Any, "cfrzr", "1", "Categorical freezing rain", "")),
    (NCEP, ((0, 1, 194), Any, "cicep", "1", "Categorical ice pellets", "")),
    (NCEP, ((0, 1, 195), Any, "csnow", "1", "Categorical snow", "")),
    (NCEP, ((0, 3, 192), Any, "mslet", "Pa", "MSLP (Eta model reduction)", "air_pressure_at_mean_sea_level")),
    (NCEP, ((0, 3, 196), Any, "hpbl", "m", "Planetary boundary layer height", "atmosphere_boundary_layer_thickness")),
    (NCEP, ((0, 7, 192), Any, "lftx", "K", "Surface lifted index", "")),
    (NCEP, ((0, 7, 193), Any, "blftx", "K", "Best (4-layer) lifted index", "")),
    (NCEP, ((0, 16, 195), Any, "refd", "dBZ", "Derived radar reflectivity", "equivalent_reflectivity_factor")),
    (NCEP, ((0, 16, 196), Any, "refc", "dBZ", "Maximum/composite radar reflectivity", "equivalent_reflectivity_factor")),
    (NCEP, ((2, 0, 192), Any, "soilw", "1", "Volumetric soil moisture content", "volume_fraction_of_condensed_water_in_soil")),
    (NCEP, ((0, 14, 192), Any, "o3mr", "kg kg-1", "Ozone mixing ratio", "mass_fraction_of_ozone_in_air")),
    (ECMWF, ((0, 1, 193), Any, "tp", "m", "Total precipitation", "lwe_thickness_of_precipitation_amount")),
    (ECMWF, ((0, 1, 195), Any, "cp", "m", "Convective precipitation", "lwe_thickness_of_convective_precipitation_amount")),
    (ECMWF, ((0, 1, 196), Any, "lsp", "m", "Large-scale precipitation", "lwe_thickness_of_stratiform_precipitation_amount")),
    (ECMWF, ((0, 1, 198), Any, "sf", "m", "Snowfall water equivalent", "lwe_thickness_of_snowfall_amount")),
    (ECMWF, ((0, 1, 199), Any, "e", "m", "Evaporation", "lwe_thickness_of_water_evaporation_amount")),
    (ECMWF, ((0, 1, 254), Any, "sd", "m", "Snow depth water equivalent", "lwe_thickness_of_surface_snow_amount")),
    (ECMWF, ((0, 6, 192), Any, "tcc", "1", "Total cloud cover", "cloud_area_fraction")),
    (ECMWF, ((0, 6, 193), Any, "lcc", "1", "Low cloud cover", "low_type_cloud_area_fraction")),
    (ECMWF, ((0, 6, 194), Any, "mcc", "1", "Medium cloud cover", "medium_type_cloud_area_fraction")),
    (ECMWF, ((0, 6, 195), Any, "hcc", "1", "High cloud cover", "high_type_cloud_area_fraction")),
    (ECMWF, ((0, 19, 193), Any, "al", "1", "Albedo", "surface_albedo")),
    (ECMWF, ((2, 0, 201), Any, "ro", "m", "Runoff", "")),
    (ECMWF, ((192, 128, 39), Any, "swvl1", "m3 m-3", "Volumetric soil water layer 1", "volume_fraction_of_condensed_water_in_soil")),
    (ECMWF, ((192, 128, 40), Any, "swvl2", "m3 m-3", "Volumetric soil water layer 2", "volume_fraction_of_condensed_water_in_soil")),
    (ECMWF, ((192, 128, 41), Any, "swvl3", "m3 m-3", "Volumetric soil water layer 3", "volume_fraction_of_condensed_water_in_soil")),
    (ECMWF, ((192, 128, 42), Any, "swvl4", "m3 m-3", "Volumetric soil water layer 4", "volume_fraction_of_condensed_water_in_soil")),
    (ECMWF, ((192, 128, 139), Any, "stl1", "K", "Soil temperature level 1", "soil_temperature")),
    (ECMWF, ((192, 128, 170), Any, "stl2", "K", "Soil temperature level 2", "soil_temperature")),
    (ECMWF, ((192, 128, 183), Any, "stl3", "K", "Soil temperature level 3", "soil_temperature")),
    (ECMWF, ((192, 128, 236), Any, "stl4", "K", "Soil temperature level 4", "soil_temperature")),
];

/// Returns what a parameter is called on a level, and of a statistic of table 4.10. `metres` is the height above the ground of a
/// field that is for one.
pub(super) fn named(
    parameter: Parameter,
    level: u8,
    metres: Option<f64>,
    statistic: Option<u8>,
) -> Option<(NamedParameter, Own)> {
    let Parameter {
        discipline,
        category,
        number,
        centre,
    } = parameter;
    let is_at = |height: i32| metres == Some(f64::from(height));
    let fits = |on: On| match on {
        Any => true,
        Metres(height) => is_at(height),
        Extreme(height, of) => is_at(height) && statistic == Some(of),
        ProductKind(kind) => level == kind,
        Statistic(of) => statistic == Some(of),
    };
    let is_it = |row: &&Row| row.0 == (discipline, category, number) && fits(row.1);
    let found = match centre {
        None => ROWS.iter().find(is_it),
        Some(centre) => {
            let of_centre = LOCAL.iter().filter(|(of, _)| *of == centre);
            of_centre.map(|(_, row)| row).find(is_it)
        }
    };
    let (_, on, name, units, long_name, standard_name) = found?;
    let named = NamedParameter {
        name,
        units,
        long_name,
        standard_name: Some(*standard_name).filter(|it| !it.is_empty()),
    };
    let own = Own {
        level: matches!(on, Metres(_) | Extreme(..)),
        statistic: matches!(on, Extreme(..) | Statistic(_)),
    };
    Some((named, own))
}

/// The facts that a name states already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// The height above the ground, which is no dimension then.
    pub(super) level: bool,
    /// The statistic.
    pub(super) statistic: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(
        of: (u8, u8, u8),
        level: u8,
        metres: Option<f64>,
        statistic: Option<u8>,
    ) -> &'static str {
        let parameter = Parameter {
            discipline: of.0,
            category: of.1,
            number: of.2,
            centre: None,
        };
        named(parameter, level, metres, statistic).map_or("", |(named, _)| named.name)
    }

    #[test]
    fn names_depend_on_the_level() {
        assert_eq!(name((0, 0, 0), 100, None, None), "t");
        assert_eq!(name((0, 0, 0), 103, Some(2.0), None), "t2m");
        assert_eq!(name((0, 0, 0), 103, Some(80.0), None), "t");
        assert_eq!(name((0, 0, 0), 103, Some(2.0), Some(2)), "mx2t");
        assert_eq!(name((0, 3, 0), 1, None, None), "sp");
        assert_eq!(name((0, 4, 7), 1, None, Some(1)), "ssrd");
        assert_eq!(name((0, 4, 7), 1, None, Some(0)), "dswrf");
        assert_eq!(name((0, 99, 0), 1, None, None), "");
    }

    #[test]
    fn centres_have_names_of_their_own() {
        let of = |centre| Parameter::new(0, 1, 193, centre);
        let name = |centre| named(of(centre), 1, None, None).map(|(named, _)| named.name);
        assert_eq!(name(98), Some("tp"));
        assert_eq!(name(7), Some("cfrzr"));
        assert_eq!(name(74), None);
        assert_eq!(Parameter::new(0, 0, 0, 98), Parameter::new(0, 0, 0, 7));
    }

    #[test]
    fn rows_are_found_and_there_once() {
        assert!(ROWS.len() >= 120, "{}", ROWS.len());
        for (at, row) in ROWS.iter().enumerate() {
            let earlier = ROWS[..at]
                .iter()
                .find(|it| it.0 == row.0 && (it.1 == row.1 || it.1 == Any));
            assert_eq!(earlier, None);
            let is_plain = |text: &str| !text.is_empty() && text.is_ascii();
            assert!(
                is_plain(row.2) && is_plain(row.3) && is_plain(row.4),
                "{row:?}"
            );
            assert!(
                row.5
                    .chars()
                    .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
            );
        }
    }
}
