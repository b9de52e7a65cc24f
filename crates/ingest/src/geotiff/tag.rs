//! The fields that are looked at.

pub(super) const KIND: u16 = 254;
pub(super) const WIDTH: u16 = 256;
pub(super) const HEIGHT: u16 = 257;
pub(super) const BITS: u16 = 258;
pub(super) const COMPRESSION: u16 = 259;
pub(super) const PHOTOMETRIC: u16 = 262;
pub(super) const FILL_ORDER: u16 = 266;
pub(super) const DESCRIPTION: u16 = 270;
pub(super) const STRIP_OFFSETS: u16 = 273;
pub(super) const SAMPLES: u16 = 277;
pub(super) const ROWS_PER_STRIP: u16 = 278;
pub(super) const STRIP_LENGTHS: u16 = 279;
pub(super) const PLANAR: u16 = 284;
pub(super) const SOFTWARE: u16 = 305;
pub(super) const DATE_TIME: u16 = 306;
pub(super) const ARTIST: u16 = 315;
pub(super) const PREDICTOR: u16 = 317;
pub(super) const TILE_WIDTH: u16 = 322;
pub(super) const TILE_HEIGHT: u16 = 323;
pub(super) const TILE_OFFSETS: u16 = 324;
pub(super) const TILE_LENGTHS: u16 = 325;
pub(super) const SUB_DIRECTORIES: u16 = 330;
pub(super) const SAMPLE_FORMAT: u16 = 339;
pub(super) const JPEG_TABLES: u16 = 347;
pub(super) const SUBSAMPLING: u16 = 530;
pub(super) const COPYRIGHT: u16 = 33432;
pub(super) const PIXEL_SCALE: u16 = 33550;
pub(super) const TIE_POINTS: u16 = 33922;
pub(super) const TRANSFORMATION: u16 = 34264;
pub(super) const GEO_KEYS: u16 = 34735;
pub(super) const GEO_FLOATS: u16 = 34736;
pub(super) const GEO_TEXTS: u16 = 34737;
pub(super) const GDAL_METADATA: u16 = 42112;
pub(super) const GDAL_NO_DATA: u16 = 42113;

/// Where the parts of an image lie, and how long they are: a number for each of them.
pub(super) const PLACES: [u16; 4] = [STRIP_OFFSETS, STRIP_LENGTHS, TILE_OFFSETS, TILE_LENGTHS];

/// Texts that become attributes, with the names that GDAL gives them.
pub(super) const TEXTS: [(u16, &str); 5] = [
    (DESCRIPTION, "TIFFTAG_IMAGEDESCRIPTION"),
    (SOFTWARE, "TIFFTAG_SOFTWARE"),
    (DATE_TIME, "TIFFTAG_DATETIME"),
    (ARTIST, "TIFFTAG_ARTIST"),
    (COPYRIGHT, "TIFFTAG_COPYRIGHT"),
];

pub(super) const WANTED: [u16; 34] = [
    KIND,
    WIDTH,
    HEIGHT,
    BITS,
    COMPRESSION,
    PHOTOMETRIC,
    FILL_ORDER,
    DESCRIPTION,
    STRIP_OFFSETS,
    SAMPLES,
    ROWS_PER_STRIP,
    STRIP_LENGTHS,
    PLANAR,
    SOFTWARE,
    DATE_TIME,
    ARTIST,
    PREDICTOR,
    TILE_WIDTH,
    TILE_HEIGHT,
    TILE_OFFSETS,
    TILE_LENGTHS,
    SUB_DIRECTORIES,
    SAMPLE_FORMAT,
    JPEG_TABLES,
    SUBSAMPLING,
    COPYRIGHT,
    PIXEL_SCALE,
    TIE_POINTS,
    TRANSFORMATION,
    GEO_KEYS,
    GEO_FLOATS,
    GEO_TEXTS,
    GDAL_METADATA,
    GDAL_NO_DATA,
];
