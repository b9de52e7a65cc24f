"""DMR++ documents of HDF5 files, written by the rules of DAP4 and DMR++ with what h5py says of the files; and cases of
`archive_sources.py` that import them.

    python interop/archive_dmrpp.py FILE [FILE ...]      writes FILE.dmrpp beside each
    python interop/archive_dmrpp.py --fixtures           makes those of `crates/ingest/tests/fixtures/dmrpp` anew
"""

import base64
import hashlib
import json
import pathlib
import sys
import zlib
from xml.sax.saxutils import escape, quoteattr

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent.parent
FIXTURES = HERE / "crates" / "ingest" / "tests" / "fixtures" / "dmrpp"

NAMESPACES = 'xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#"'
FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32"}
HIDDEN = {"DIMENSION_LIST", "REFERENCE_LIST"}


def dap_type(dtype):
    """The element that DAP4 has for numbers."""
    size = dtype.itemsize * 8
    return {"i": f"Int{size}", "u": f"UInt{size}", "f": f"Float{size}"}[dtype.kind] if dtype != "u1" else "Byte"


def number(value):
    """As the builder of OPeNDAP spells one."""
    if isinstance(value, np.floating):
        return "nan" if np.isnan(value) else str(value)
    return str(int(value))


def attribute(name, value):
    """One attribute; `None` for a type that DMR++ leaves out."""
    if isinstance(value, str | bytes):
        texts = [value.decode("latin-1") if isinstance(value, bytes) else value]
        kind = "String"
    else:
        array = np.atleast_1d(np.asarray(value))
        if array.dtype.kind in "iuf":
            kind, texts = dap_type(array.dtype), [number(one) for one in array]
        elif array.dtype.kind in "SO":
            kind, texts = "String", [one.decode() if isinstance(one, bytes) else str(one) for one in array]
        else:
            return None
    values = "".join(f"<Value>{escape(text)}</Value>" for text in texts)
    return f"<Attribute name={quoteattr(name)} type=\"{kind}\">{values}</Attribute>"


def dimensions(dataset):
    """The names of the scales of a dataset's dimensions, as paths; `None` where there is none."""
    if dataset.is_scale and dataset.ndim == 1:
        return [dataset.name]
    return [axis[0].name if len(axis) else None for axis in dataset.dims]


def filters(dataset):
    """`compressionType` and `deflateLevel`, in the order in which HDF5 applies filters."""
    plist = dataset.id.get_create_plist()
    names, levels = [], []
    for at in range(plist.get_nfilters()):
        code, _, parameters, _ = plist.get_filter(at)
        names.append(FILTERS[code])
        if code == 1:
            levels.append(str(parameters[0]))
    said = f" compressionType=\"{' '.join(names)}\"" if names else ""
    return said + (f" deflateLevel=\"{' '.join(levels)}\"" if levels else "")


def storage(dataset):
    """Where the bytes of a dataset are."""
    plist = dataset.id.get_create_plist()
    fill = f" fillValue=\"{number(dataset.fillvalue)}\"" if dataset.dtype.kind in "iuf" else ""
    order = "BE" if dataset.dtype.byteorder == ">" else "LE"
    order = f' byteOrder="{order}"' if dataset.dtype.itemsize > 1 and dataset.dtype.kind in "iuf" else ""
    if plist.get_layout() == h5py.h5d.COMPACT:
        inline = base64.b64encode(dataset[()].tobytes()).decode()
        return f"<dmrpp:chunks{fill}{order}/><dmrpp:compact>{inline}</dmrpp:compact>"
    if plist.get_layout() == h5py.h5d.CONTIGUOUS:
        place = dataset.id.get_offset()
        chunk = "" if place is None else f'<dmrpp:chunk offset="{place}" nBytes="{dataset.id.get_storage_size()}"/>'
        return f"<dmrpp:chunks{fill}{order}>{chunk}</dmrpp:chunks>"
    sizes = " ".join(map(str, dataset.chunks))
    listed = []
    for at in range(dataset.id.get_num_chunks()):
        chunk = dataset.id.get_chunk_info(at)
        mask = f' fm="{chunk.filter_mask}"' if chunk.filter_mask else ""
        position = ",".join(map(str, chunk.chunk_offset))
        listed.append(f'<dmrpp:chunk offset="{chunk.byte_offset}" nBytes="{chunk.size}" '
                      f'chunkPositionInArray="[{position}]"{mask}/>')
    return (f"<dmrpp:chunks{filters(dataset)}{fill}{order}><dmrpp:chunkDimensionSizes>{sizes}"
            f"</dmrpp:chunkDimensionSizes>{''.join(listed)}</dmrpp:chunks>")


def variable(name, dataset):
    """A variable; what has no chunks of its own in the file has its values in the document."""
    dtype, more, kind = dataset.dtype, "", None
    text = h5py.check_string_dtype(dtype)
    if text and text.length is None:
        values = dataset.asstr()[...].reshape(-1)
        stored = "".join(f"<v>{escape(one)}</v>" for one in values)
        kind, place = "String", f"<dmrpp:vlsa>{stored}</dmrpp:vlsa>"
    elif text:
        kind, place = "String", storage(dataset)
        if dataset.ndim:
            more = f'<dmrpp:FixedLengthStringArray string_length="{text.length}" pad="null"/>'
    else:
        kind, place = dap_type(dtype), storage(dataset)
    parts = [f"<{kind} name={quoteattr(name)}>"]
    for length, dimension in zip(dataset.shape, dimensions(dataset)):
        parts.append(f"<Dim name={quoteattr(dimension)}/>" if dimension else f'<Dim size="{length}"/>')
    parts += [attribute(key, value) for key, value in dataset.attrs.items() if key not in HIDDEN]
    parts += [more, place, f"</{kind}>"]
    return "\n".join(filter(None, parts))


def group(item, extra=""):
    """What stands within the element of a group: dimensions, variables, groups, attributes."""
    parts = [attribute(key, value) for key, value in item.attrs.items()]
    for name, dataset in item.items():
        if isinstance(dataset, h5py.Dataset) and dataset.is_scale:
            parts.insert(0, f'<Dimension name={quoteattr(name)} size="{dataset.shape[0]}"/>')
    for name, dataset in item.items():
        if not isinstance(dataset, h5py.Dataset):
            parts.append(f"<Group name={quoteattr(name)}>\n{group(dataset)}\n</Group>")
        elif b"not a netCDF variable" not in dataset.attrs.get("NAME", b""):
            parts.append(variable(name, dataset))
    return "\n".join(filter(None, parts)) + extra


def document(path, href=None, version="3.21.1", extra=""):
    """The DMR++ document of an HDF5 file."""
    path = pathlib.Path(path)
    href = f" dmrpp:href={quoteattr(href)}" if href else ""
    version = f' dmrpp:version="{version}"' if version else ""
    with h5py.File(path) as file:
        inner = group(file, extra)
    text = (f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<Dataset {NAMESPACES} dapVersion="4.0" dmrVersion="1.0" '
            f"name={quoteattr(path.name)}{href}{version}>\n{inner}\n</Dataset>\n")
    return text.encode("latin-1", "xmlcharrefreplace")


def write_dmrpp(path, **how):
    """Writes the document beside its file."""
    beside = path.with_name(path.name + ".dmrpp")
    beside.write_bytes(document(path, **how))
    return beside


def numbers(shape, dtype="f4"):
    return (np.arange(np.prod(shape)) * 0.75 - 3).astype(dtype).reshape(shape)


def write_every_kind(path):
    """Every layout, filter and type that a document can name."""
    how = dict(track_times=False)
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file.attrs["title"] = "every kind, in °C <&>"
        file.attrs["versions"] = np.array([1, 2], "i4")
        x = file.create_dataset("x", data=np.arange(5, dtype="f8"), **how)
        x.make_scale("x")
        x.attrs["units"] = "degrees_east"
        y = file.create_dataset("y", data=np.arange(7, dtype="i4"), **how)
        y.make_scale("y")

        def on_grid(name, **more):
            made = file.create_dataset(name, **more, **how)
            made.dims[0].attach_scale(y)
            made.dims[1].attach_scale(x)
            return made
        heat = on_grid("heat", data=numbers((7, 5)), chunks=(3, 2), compression="gzip", compression_opts=7, shuffle=True)
        heat.attrs["_FillValue"] = np.float32(-3)
        heat.attrs["valid_range"] = np.array([-100, 100], "f4")
        heat.attrs["half"] = np.float32(0.1)
        on_grid("checked", data=numbers((7, 5), "i2"), chunks=(3, 2), compression="gzip", shuffle=True, fletcher32=True)
        on_grid("big", data=numbers((7, 5), ">f8"), chunks=(7, 5), fletcher32=True)
        on_grid("contiguous", data=numbers((7, 5), ">i4"))
        some = on_grid("some_written", shape=(7, 5), dtype="u2", chunks=(2, 2), fillvalue=9)
        some.attrs["_FillValue"] = np.uint16(9)
        some[2:4] = 5
        on_grid("never_written", shape=(7, 5), dtype="f4", fillvalue=np.nan)
        for dtype in ["i1", "u1", "u4", "i8", "u8"]:
            file.create_dataset(f"inner/{dtype}", data=numbers((4, 3), dtype), **how)
        file["inner"].attrs["note"] = "a group"
        file.create_dataset("inner/deep/scalar", data=np.float32(1.5), **how)
        file.create_dataset("names", data=np.array([b"a", b"three", b""], "S5"), **how)
        file.create_dataset("word", data=np.bytes_(b"four"), **how)
        file.create_dataset("texts", data=np.array(["", "a", "°C"], object), dtype=h5py.string_dtype(), **how)
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        p.set_layout(h5py.h5d.COMPACT)
        p.set_obj_track_times(False)
        data = np.arange(6, dtype="<i2").reshape(2, 3)
        space = h5py.h5s.create_simple(data.shape)
        compact = h5py.h5d.create(file.id, b"compact", h5py.h5t.py_create(data.dtype), space, p)
        compact.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
        # One chunk went without its compressor.
        mask = file.create_dataset("mask", shape=(4,), dtype="<i4", chunks=(2,), compression="gzip", shuffle=True, **how)
        mask[:2] = [1, 2]
        mask.id.write_direct_chunk((2,), np.array([3, 4], "<i4").tobytes(), 3)
    return path


def write_checksum_first(path):
    """As netCDF-C orders filters: a checksum of four bytes leaves a shuffle of eight some over."""
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_chunk((5,))
    p.set_fletcher32()
    p.set_shuffle()
    p.set_deflate(4)
    p.set_obj_track_times(False)
    with h5py.File(path, "w") as file:
        for dtype in ["<i2", "<f8"]:
            made = h5py.h5d.create(file.id, dtype[1:].encode(), h5py.h5t.py_create(np.dtype(dtype)),
                                   h5py.h5s.create_simple((12,)), p)
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, numbers((12,), dtype))
    return path


def described(path):
    """What h5py reads: shape, type and the digest of the values, little-endian, by path."""
    found = {}

    def visit(name, item):
        if not isinstance(item, h5py.Dataset):
            return
        text = h5py.check_string_dtype(item.dtype)
        if text and text.length is None:
            found["/" + name] = {"shape": item.shape, "dtype": "string", "texts": list(item.asstr()[...])}
            return
        values = np.asarray(item[()])
        little = values.astype(values.dtype.newbyteorder("<"))
        found["/" + name] = {"shape": item.shape, "dtype": values.dtype.str[1:],
                             "sha256": hashlib.sha256(little.tobytes()).hexdigest()}
    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def hidden_in_document(text):
    """Values as some builders have them: deflated and in base64, texts that stand for several."""
    missing = base64.encodebytes(zlib.compress(np.arange(91, dtype="<f8").tobytes())).decode()
    long = "sweet sorrow"
    packed = base64.b64encode(zlib.compress(long.encode())).decode()
    return text + f"""<Dimension name="Latitude" size="91"/>
<Float64 name="Latitude"><Dim name="/Latitude"/><dmrpp:missingdata>
{missing}</dmrpp:missingdata></Float64>
<String name="words"><Dim size="12"/><dmrpp:vlsa><v>Parting</v><v>is such</v><v c="9">sweet</v>
<v s="{len(long)}">{packed}</v></dmrpp:vlsa></String>
<Enumeration name="sky" basetype="Byte"><EnumConst name="clear" value="0"/><EnumConst name="cloudy" value="2"/></Enumeration>
<Enum name="clouds" enum="/sky"><Dim size="3"/><dmrpp:chunks fillValue="0"/>
<dmrpp:compact>AAIA</dmrpp:compact></Enum>
"""


def fixtures():
    FIXTURES.mkdir(exist_ok=True)
    expected = {}
    for write in [write_every_kind, write_checksum_first]:
        name = write.__name__.removeprefix("write_") + ".h5"
        path = write(FIXTURES / name)
        write_dmrpp(path, href="OPeNDAP_DMRpp_DATA_ACCESS_URL")
        expected[name] = described(path)
    (FIXTURES / "inline.h5.dmrpp").write_bytes(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Dataset {NAMESPACES} name="inline.h5">\n{hidden_in_document("")}</Dataset>\n'
        .encode())
    (FIXTURES / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


def main():
    if sys.argv[1:] == ["--fixtures"]:
        return fixtures()
    for name in sys.argv[1:]:
        print(write_dmrpp(pathlib.Path(name)))


if __name__ == "__main__":
    main()
