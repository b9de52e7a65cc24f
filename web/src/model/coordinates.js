// The coordinates of an array: arrays named as its dimensions, in its group or above, and those that `coordinates` names.
import { askOnce, dataAddress } from '../api.js';
import { read } from '../data/client.js';
import { Decoding, coordinateNames, parsed, role } from './document.js';
import { isNumeric } from './slice.js';
import { line } from '../text.js';

/** Longer coordinates are not read: positions stand in for them. */
const LONGEST = 500_000;
/** Coordinates of two dimensions have at most so many elements. */
const LARGEST = 8_000_000;

/** Coordinates in more chunks are not read: each chunk is a request. */
const CHUNKS = 1000;

function isLight({ shape, chunk_shape: chunks }) {
  return shape.reduce((product, length, at) => product * Math.ceil(length / Math.max(1, chunks[at])), 1) <= CHUNKS;
}

/** Finds the array of a name, seen from a path: in the same group, else in one above. */
async function nodeNamed(repository, snapshot, path, name) {
  if (!name || /[/\u0000]/.test(name)) return null;
  let group = path.slice(0, path.lastIndexOf('/'));
  for (let level = 0; level < 8; level += 1) {
    try {
      const node = await askOnce([repository.name, 'node', snapshot], { path: `${group}/${name}` });
      if (node.kind === 'array' && !node.error) return node;
    } catch (error) {
      if (error.status !== 404) throw error;
    }
    if (!group) return null;
    group = group.slice(0, group.lastIndexOf('/'));
  }
  return null;
}

async function numbersOf(repository, snapshot, node, decoding, signal) {
  const base = dataAddress(repository, snapshot, node.path);
  const whole = node.shape.map((length) => [0, length]);
  const { data, missing } = await read(base, whole, signal);
  // Chunks that are not written have no coordinates.
  return missing.length ? null : decoding.numbers(data);
}

async function dimension(repository, snapshot, node, at, signal) {
  const name = node.dimension_names?.[at] ?? '';
  const plain = { name: line(name, 60) || `dimension ${at}`, length: node.shape[at], coordinates: null, decoding: null, role: null };
  const found = name && name !== node.path.split('/').at(-1) ? await nodeNamed(repository, snapshot, node.path, name) : null;
  if (!found || found.shape.length !== 1 || found.shape[0] !== node.shape[at] || found.shape[0] > LONGEST || !isLight(found)) return plain;
  const document = parsed(found.document);
  const decoding = new Decoding(document);
  if (!isNumeric(found.data_type)) return plain;
  const coordinates = await numbersOf(repository, snapshot, found, decoding, signal);
  return { ...plain, coordinates, decoding, role: role(document.attributes, name) };
}

async function curved(repository, snapshot, node, document, signal) {
  const found = {};
  for (const name of coordinateNames(document.attributes).slice(0, 12)) {
    const other = await nodeNamed(repository, snapshot, node.path, name);
    if (!other || other.shape.length !== 2 || !isNumeric(other.data_type) || other.shape[0] * other.shape[1] > LARGEST || !isLight(other)) continue;
    const described = parsed(other.document);
    const what = role(described.attributes, name);
    if (what === 'latitude' || what === 'longitude') found[what] = { node: other, decoding: new Decoding(described) };
  }
  const { latitude, longitude } = found;
  if (!latitude || !longitude || String(latitude.node.shape) !== String(longitude.node.shape)) return null;
  const names = latitude.node.dimension_names ?? [];
  const place = (at) => {
    const named = node.dimension_names?.indexOf(names[at]) ?? -1;
    return named >= 0 && names[at] ? named : node.shape.length - 2 + at;
  };
  const dims = [place(0), place(1)];
  if (dims.some((at, side) => node.shape[at] !== latitude.node.shape[side])) return null;
  const [latitudes, longitudes] = await Promise.all([latitude, longitude].map((it) => numbersOf(repository, snapshot, it.node, it.decoding, signal)));
  return latitudes && longitudes ? { dims, latitudes, longitudes, columns: latitude.node.shape[1] } : null;
}

/** Returns `{ dims, curved }`: what is known of each dimension, and the latitudes and longitudes of a curved grid, if it is one. */
export async function coordinatesOf(repository, snapshot, node, document, signal) {
  const dims = await Promise.all(node.shape.map((_, at) => dimension(repository, snapshot, node, at, signal).catch((error) => {
    if (error.name === 'AbortError') throw error;
    return { name: line(node.dimension_names?.[at] ?? '', 60) || `dimension ${at}`, length: node.shape[at], coordinates: null, decoding: null, role: null, error };
  })));
  let grid = null;
  try {
    grid = node.shape.length >= 2 ? await curved(repository, snapshot, node, document, signal) : null;
  } catch (error) {
    if (error.name === 'AbortError') throw error;
  }
  return { dims, curved: grid };
}
