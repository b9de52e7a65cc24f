// Code that opens a node with other programs.

/** A string literal that JavaScript, Python and R read alike. */
function quoted(text) {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function shell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns `{ name, code, note }` for each program. `root` is the address of the version, `base` that of the node. */
export function snippets({ root, base, path, kind, s3 }) {
  const trimmed = base.replace(/\/$/, '');
  const isArray = kind === 'array';
  const parent = isArray ? path.slice(0, path.lastIndexOf('/')) : path;
  const name = path.slice(path.lastIndexOf('/') + 1);
  const group = isArray ? trimmed.slice(0, trimmed.lastIndexOf('/')) : trimmed;
  const list = [
    { name: 'xarray', code: `import xarray as xr\n\nds = xr.open_zarr(${quoted(group)})\n${isArray ? `ds[${quoted(name)}]` : 'ds'}`, note: parent.length > 1 ? '' : 'xr.open_datatree(…, engine="zarr") opens all groups.' },
    { name: 'zarr-python', code: `import zarr\n\n${isArray ? 'array' : 'group'} = zarr.open(${quoted(trimmed)}, mode="r")` },
    isArray && { name: 'tensorstore', code: `import tensorstore as ts\n\narray = ts.open({\n    "driver": "zarr3",\n    "kvstore": ${quoted(base)},\n}).result()` },
    { name: 'zarrita (JavaScript)', code: `import * as zarr from "zarrita";\n\nconst store = new zarr.FetchStore(${quoted(trimmed)});\nconst node = await zarr.open.v3(store, { kind: "${isArray ? 'array' : 'group'}" });${isArray ? '\nconst { data, shape } = await zarr.get(node);' : ''}` },
    { name: 'GDAL', code: `gdalmdiminfo ${shell(`ZARR:"/vsicurl/${group}"`)}`, note: 'QGIS takes the same text as a multidimensional raster.' },
    { name: 'R (pizzarr)', code: `library(pizzarr)\n\nstore <- HttpStore$new(${quoted(group)})\n${isArray ? `array <- zarr_open(store)$get_item(${quoted(name)})` : 'group <- zarr_open(store)'}` },
    s3 && { name: 'netCDF (ncdump)', code: `ncdump -h ${shell(`${s3}#mode=zarr,s3`)}` },
  ];
  return list.filter(Boolean);
}
