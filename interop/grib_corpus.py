"""GRIB messages of every packing and grid that is read, written by eccodes. Run as a program, writes the fixtures of
the Rust tests anew, with what eccodes reads in them:

    python interop/grib_corpus.py
"""

import json
from pathlib import Path

import eccodes
import numpy as np

FIXTURES = Path(__file__).resolve().parent.parent / "crates/ingest/tests/fixtures/grib"

# Scanning: rows from north to south, and points from west to east.
WHEN = {"dataDate": 20240229, "dataTime": 600}
LATLON = {
    "Ni": 6, "Nj": 4, "iDirectionIncrement": 5_000_000, "jDirectionIncrement": 10_000_000,
    "latitudeOfFirstGridPoint": 60_000_000, "latitudeOfLastGridPoint": 30_000_000,
    "longitudeOfFirstGridPoint": 5_000_000, "longitudeOfLastGridPoint": 30_000_000,
}
PLANE = {"Nx": 6, "Ny": 4, "DxInMetres": 25_000, "DyInMetres": 30_000}
ELLIPSOID = {"shapeOfTheEarth": 5}
LAMBERT = {
    "gridType": "lambert", **PLANE, "latitudeOfFirstGridPointInDegrees": 42.5, "longitudeOfFirstGridPointInDegrees": 3.25,
    "LaDInDegrees": 46.5, "LoVInDegrees": 10, "Latin1InDegrees": 44, "Latin2InDegrees": 49, "jScansPositively": 1,
    "shapeOfTheEarth": 6,
}
POLAR = {
    "gridType": "polar_stereographic", **PLANE, "latitudeOfFirstGridPointInDegrees": 62.5,
    "longitudeOfFirstGridPointInDegrees": 320.25, "LaDInDegrees": 60, "orientationOfTheGridInDegrees": 249, "jScansPositively": 1,
    "shapeOfTheEarth": 6,
}
GRIDS = {
    "regular": LATLON,
    "globe": {
        **LATLON, "Ni": 18, "Nj": 10, "iDirectionIncrement": 20_000_000, "jDirectionIncrement": 20_000_000,
        "latitudeOfFirstGridPoint": 90_000_000, "latitudeOfLastGridPoint": -90_000_000,
        "longitudeOfFirstGridPoint": 0, "longitudeOfLastGridPoint": 340_000_000,
    },
    "northward": {
        **LATLON, "jScansPositively": 1,
        "latitudeOfFirstGridPoint": 30_000_000, "latitudeOfLastGridPoint": 60_000_000,
    },
    "westward": {
        **LATLON, "iScansNegatively": 1,
        "longitudeOfFirstGridPoint": 30_000_000, "longitudeOfLastGridPoint": 5_000_000,
    },
    "columns": {**LATLON, "jPointsAreConsecutive": 1},
    "back_and_forth": {**LATLON, "alternativeRowScanning": 1},
    "across": {**LATLON, "longitudeOfFirstGridPoint": 350_000_000, "longitudeOfLastGridPoint": 15_000_000},
    "half": {**LATLON, "longitudeOfFirstGridPoint": 180_000_000, "longitudeOfLastGridPoint": 120_000_000,
             "iDirectionIncrement": 60_000_000},
    "gaussian": {
        "gridType": "regular_gg", "N": 4, "Ni": 16, "Nj": 8, "iDirectionIncrement": 22_500_000,
        "latitudeOfFirstGridPointInDegrees": 73.799, "latitudeOfLastGridPointInDegrees": -73.799,
        "longitudeOfFirstGridPoint": 0, "longitudeOfLastGridPoint": 337_500_000,
    },
    "reduced": {
        "gridType": "reduced_gg", "N": 4, "Nj": 8, "pl": [8, 12, 16, 20, 20, 16, 12, 8],
        "latitudeOfFirstGridPointInDegrees": 73.799, "latitudeOfLastGridPointInDegrees": -73.799,
        "longitudeOfFirstGridPoint": 0, "longitudeOfLastGridPoint": 342_000_000,
    },
    "rotated": {
        "gridType": "rotated_ll", "Ni": 6, "Nj": 4, "iDirectionIncrement": 5_000_000, "jDirectionIncrement": 10_000_000,
        "latitudeOfFirstGridPoint": -20_000_000, "latitudeOfLastGridPoint": 10_000_000, "jScansPositively": 1,
        "longitudeOfFirstGridPoint": 345_000_000, "longitudeOfLastGridPoint": 10_000_000,
        "latitudeOfSouthernPoleInDegrees": -43, "longitudeOfSouthernPoleInDegrees": 10,
    },
    "lambert": LAMBERT,
    "lambert_ellipsoid": {**LAMBERT, **ELLIPSOID},
    "lambert_south": {
        **LAMBERT, "latitudeOfFirstGridPointInDegrees": -42.5, "longitudeOfFirstGridPointInDegrees": 143.25,
        "LaDInDegrees": -35, "LoVInDegrees": 145, "Latin1InDegrees": -35, "Latin2InDegrees": -35,
    },
    "lambert_southward": {**LAMBERT, "jScansPositively": 0},
    "polar": POLAR,
    "polar_ellipsoid": {**POLAR, **ELLIPSOID},
    "polar_south": {
        **POLAR, "latitudeOfFirstGridPointInDegrees": -62.5, "projectionCentreFlag": 128, "LaDInDegrees": -71,
    },
    "mercator": {
        "gridType": "mercator", "Ni": 6, "Nj": 4, "latitudeOfFirstGridPointInDegrees": 10,
        "longitudeOfFirstGridPointInDegrees": 100, "latitudeOfLastGridPointInDegrees": 11,
        "longitudeOfLastGridPointInDegrees": 101.5, "LaDInDegrees": 20, "DiInMetres": 25_000, "DjInMetres": 30_000,
        "jScansPositively": 1, "shapeOfTheEarth": 6,
    },
}

# The keys of a packing, and whether its values are set before it.
PACKINGS = {
    "simple": {"bitsPerValue": 16, "packingType": "grid_simple"},
    "simple_decimal": {"packingType": "grid_simple", "decimalPrecision": 2},
    "simple_wide": {"bitsPerValue": 31, "packingType": "grid_simple"},
    "simple_narrow": {"bitsPerValue": 5, "packingType": "grid_simple"},
    "complex": {"bitsPerValue": 16, "packingType": "grid_complex"},
    "differenced": {"bitsPerValue": 16, "packingType": "grid_complex_spatial_differencing"},
    "differenced_once": {
        "bitsPerValue": 16, "packingType": "grid_complex_spatial_differencing", "orderOfSpatialDifferencing": 1,
    },
    "jpeg": {"bitsPerValue": 16, "packingType": "grid_jpeg"},
    "png": {"bitsPerValue": 16, "packingType": "grid_png"},
    "png_8": {"bitsPerValue": 8, "packingType": "grid_png"},
    "png_12": {"bitsPerValue": 12, "packingType": "grid_png"},
    "ccsds": {"bitsPerValue": 16, "packingType": "grid_ccsds"},
    "ccsds_12": {"bitsPerValue": 12, "packingType": "grid_ccsds"},
    "ccsds_24": {"bitsPerValue": 24, "packingType": "grid_ccsds"},
    "ieee": {"packingType": "grid_ieee"},
    "ieee_64": {"packingType": "grid_ieee", "precision": 2},
    "log": {"bitsPerValue": 16, "packingType": "grid_simple_log_preprocessing"},
}


def smooth(count, phase=0.0):
    """Numbers as a model has them."""
    at = np.arange(count)
    return 270 + 20 * np.sin(at * 0.11 + phase) + 3 * np.cos(at * 0.731 - phase)


def points(keys):
    """The number of points of a grid."""
    if "pl" in keys:
        return sum(keys["pl"])
    return keys.get("Ni", keys.get("Nx")) * keys.get("Nj", keys.get("Ny"))


def message(keys, packing="simple", grid="regular", values=None, missing=(), centre="ecmf"):
    """One message; `missing` are the positions of points without a value."""
    handle = eccodes.codes_grib_new_from_samples("GRIB2")
    shape = GRIDS[grid]
    if values is None:
        values = smooth(points(shape))
    values = np.asarray(values, "f8").ravel().copy()
    try:
        eccodes.codes_set(handle, "centre", centre)
        for name, value in {**shape, **WHEN, **keys}.items():
            if name == "pl":
                eccodes.codes_set_array(handle, name, value)
            else:
                eccodes.codes_set(handle, name, value)
        if len(missing):
            eccodes.codes_set(handle, "bitmapPresent", 1)
            values[list(missing)] = eccodes.codes_get(handle, "missingValue")
        # The number of values, which some packings want to know first.
        eccodes.codes_set_values(handle, values)
        for name, value in PACKINGS[packing].items():
            eccodes.codes_set(handle, name, value)
        eccodes.codes_set_values(handle, values)
        return eccodes.codes_get_message(handle)
    finally:
        eccodes.codes_release(handle)


def level(name, kind="isobaricInhPa", at=0, **more):
    """The keys of a field on a level."""
    return {"shortName": name, "typeOfLevel": kind, "level": at, **more}


def read(path):
    """What eccodes reads in a file: of each field, some of its keys, its values and the places of its points."""
    fields = []
    with open(path, "rb") as file:
        while True:
            handle = eccodes.codes_grib_new_from_file(file)
            if handle is None:
                return fields
            values = eccodes.codes_get_values(handle)
            missing = eccodes.codes_get(handle, "missingValue")
            if eccodes.codes_get(handle, "bitmapPresent") or missing in values:
                values = np.where(values == missing, np.nan, values)
            field = {"values": values}
            for name in ("shortName", "cfVarName", "typeOfLevel", "gridType", "packingType"):
                field[name] = eccodes.codes_get_string(handle, name)
            for name in ("level", "dataDate", "dataTime", "offset", "endStep", "number"):
                field[name] = eccodes.codes_get(handle, name, ktype=int) if eccodes.codes_is_defined(handle, name) else None
            try:
                # Its iterator knows nothing of rows that come back and forth, before they are turned round.
                if eccodes.codes_get(handle, "scanningMode") & 16:
                    eccodes.codes_set(handle, "swapScanningAlternativeRows", 1)
                triples = eccodes.codes_grib_get_data(handle)
                for name, key in [("latitudes", "lat"), ("longitudes", "lon"), ("placed", "value")]:
                    field[name] = np.array([it[key] for it in triples])
                field["placed"] = np.where(field["placed"] == missing, np.nan, field["placed"])
            except eccodes.CodesInternalError:
                # It knows no places of a grid on an ellipsoid, for instance.
                field |= dict.fromkeys(("latitudes", "longitudes", "placed"))
            eccodes.codes_release(handle)
            fields.append(field)


def multi(messages):
    """Several fields in one message, which share the sections 1 to 3 of the first."""
    whole = messages[0][:-4]
    for other in messages[1:]:
        at, sections = 16, []
        while other[at:at + 4] != b"7777":
            length = int.from_bytes(other[at:at + 4], "big")
            if other[at + 4] >= 4:
                sections.append(other[at:at + length])
            at += length
        whole += b"".join(sections)
    whole += b"7777"
    return whole[:8] + len(whole).to_bytes(8, "big") + whole[16:]


def repeated_bitmap(one, other):
    """Two fields in a message, of which the second one has the bitmap of the first."""
    whole = multi([one, other])
    at, seen, out = 16, 0, whole[:16]
    while whole[at:at + 4] != b"7777":
        length = int.from_bytes(whole[at:at + 4], "big")
        section = whole[at:at + length]
        if section[4] == 6:
            seen += 1
            if seen == 2:
                section = (6).to_bytes(4, "big") + bytes([6, 254])
        out += section
        at += length
    out += b"7777"
    return out[:8] + len(out).to_bytes(8, "big") + out[16:]


def packings():
    """The same field in each packing, plain, with missing points, and constant."""
    files = {}
    for name in PACKINGS:
        # eccodes has no room for a PNG image that is larger than its pixels.
        is_png = name.startswith("png")
        grid = "globe" if is_png else "regular"
        count = points(GRIDS[grid])
        values = np.round(smooth(count) / 4) * 4 if is_png else smooth(count)
        members = [message(level("t", at=500), name, grid, values)]
        members.append(message(level("t", at=850), name, grid, values, missing=(0, 7, 8, 23)))
        # A constant field: eccodes does not read its own one as PNG, nor one of logarithms.
        if name != "log" and not is_png:
            members.append(message(level("t", at=1000), name, grid, values=np.full(count, 273.25)))
        files[f"packing_{name}"] = b"".join(members)
    return files


def grids():
    """One field on each grid."""
    return {f"grid_{name}": message(level("t", at=500), grid=name) for name in GRIDS}


def cubes():
    """Several messages: what becomes of them is in the tests."""
    step = lambda hours: {"stepRange": str(hours)}
    count = points(LATLON)
    forecast = []
    for time in (0, 1200):
        for hours in (0, 6):
            for at in (1000, 850, 500):
                phase = time / 1000 + hours + at
                keys = level("t", at=at, dataTime=time, **step(hours))
                forecast.append(message(keys, "ccsds", values=smooth(count, phase)))
            for name, kind, height in [("2t", "heightAboveGround", 2), ("10u", "heightAboveGround", 10), ("msl", "meanSea", 0)]:
                keys = {"shortName": name, "dataTime": time, **step(hours)}
                forecast.append(message(keys, values=smooth(count, time + hours + height)))
            if hours:
                keys = {"shortName": "tp", "stepType": "accum", "dataTime": time, "stepRange": f"0-{hours}"}
                forecast.append(message(keys, values=smooth(count, hours) - 270))
    members = []
    for number in range(3):
        for hours in (0, 12):
            keys = {"productDefinitionTemplateNumber": 1, **level("gh", at=500), "number": number, **step(hours)}
            members.append(message(keys, "simple", values=smooth(count, number + hours)))
    plain, masked = level("u", at=500), {"missing": (1, 2, 20)}
    files = {
        "forecast": b"".join(forecast),
        "ensemble": b"".join(members),
        "fields": multi([
            message(plain, "simple"), message(level("v", at=500), "complex"), message(level("u", at=850), "ccsds"),
        ]),
        "bitmaps": repeated_bitmap(
            message(plain, **masked), message(level("v", at=500), values=smooth(count, 1), **masked),
        ),
        "surfaces": message(level("t", at=500)) + message(level("t", "surface", 0)) + message({"discipline": 0,
            "parameterCategory": 0, "parameterNumber": 99, "typeOfFirstFixedSurface": 1}),
        "gap": b"".join(message(level("t", at=at, **step(hours))) for at, hours in [(500, 0), (850, 0), (500, 6)]),
        "twice": message(level("t", at=500)) + message(level("t", at=500), values=smooth(count, 2)),
        "layers": b"".join(
            message({"shortName": "t", "typeOfLevel": "depthBelowLandLayer", "scaleFactorOfFirstFixedSurface": 2,
                     "scaledValueOfFirstFixedSurface": top, "scaleFactorOfSecondFixedSurface": 2,
                     "scaledValueOfSecondFixedSurface": bottom}, centre="kwbc")
            for top, bottom in [(0, 10), (10, 40)]
        ),
        "two_grids": message(level("t", at=500)) + message(level("t", at=500), grid="lambert"),
    }
    for number, hours in enumerate((0, 6)):
        files[f"step_{number}"] = b"".join(
            message(level("t", at=at, **step(hours)), values=smooth(count, hours + at)) for at in (850, 500)
        )
    for number, time in enumerate((0, 600, 1200)):
        files[f"time_{number}"] = b"".join(
            message(level("t", at=at, dataTime=time), values=smooth(count, time + at)) for at in (850, 500)
        )
    return files


def everything():
    return {**packings(), **grids(), **cubes()}


def main():
    FIXTURES.mkdir(exist_ok=True)
    eccodes.codes_grib_multi_support_on()
    expected = {}
    for name, content in everything().items():
        path = FIXTURES / f"{name}.grib2"
        path.write_bytes(content)
        fields = [{key: shown(value) for key, value in field.items()} for field in read(path)]
        for number, field in enumerate(fields):
            # Places are those of the grid, not of the field.
            if number or not name.startswith("grid_"):
                del field["latitudes"], field["longitudes"], field["placed"]
        expected[name] = fields
    lines = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in expected.items()]
    (FIXTURES / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def shown(value):
    if isinstance(value, np.ndarray):
        return [None if np.isnan(it) else it for it in value.tolist()]
    return value


if __name__ == "__main__":
    main()
