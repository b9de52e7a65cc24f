// Canned repositories. Data are functions of the version, so that thousands of commits cost nothing.
import Blosc from 'numcodecs/blosc';
import Zstd from 'numcodecs/zstd';
import { gzipSync } from 'node:zlib';
import { createHash } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A snapshot id that is always the same for the same text. */
export function idOf(text) {
  const digest = createHash('sha256').update(text).digest();
  return Array.from(digest.subarray(0, 19), (byte) => ALPHABET[byte & 31]).join('') + '0';
}

export const FIRST = '1CECHNKREP0F1RSTCMT0';

const TYPES = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int16: Int16Array, uint8: Uint8Array, int32: Int32Array };
const CODECS = {
  zstd: { document: { name: 'zstd', configuration: { level: 1, checksum: false } }, make: () => new Zstd(1) },
  blosc: { document: { name: 'blosc', configuration: { cname: 'lz4', clevel: 5, shuffle: 'shuffle', typesize: 2, blocksize: 0 } }, make: () => new Blosc(5, 'lz4', 1, 0) },
  gzip: { document: { name: 'gzip', configuration: { level: 5 } }, make: () => ({ encode: (bytes) => gzipSync(bytes) }) },
};

/** An array: `value(index, version)` gives an element, `written(chunk, version)` the commit that wrote a chunk, or -1. */
export class MockArray {
  constructor({ shape, chunks, type = 'float32', dims = null, codec = null, attributes = {}, fill = 'NaN', value = () => 0, written = () => 0, kind = () => 'native', since = 0, whole = null }) {
    Object.assign(this, { whole, shape, chunks, type, dims, codec, attributes, fill, value, written, kindOf: kind, since });
    this.grid = shape.map((length, at) => Math.ceil(length / chunks[at]));
    this.encoded = new Map();
  }

  document(version) {
    const attributes = typeof this.attributes === 'function' ? this.attributes(version) : this.attributes;
    const codecs = this.type === 'string' ? [{ name: 'vlen-utf8' }] : [{ name: 'bytes', configuration: { endian: 'little' } }];
    if (this.codec) codecs.push(CODECS[this.codec].document);
    return JSON.stringify({
      zarr_format: 3, node_type: 'array', shape: this.shape, data_type: this.type,
      chunk_grid: { name: 'regular', configuration: { chunk_shape: this.chunks } },
      chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
      fill_value: this.fill, codecs, attributes, ...(this.dims ? { dimension_names: this.dims } : {}),
    }).replaceAll('"@BIG@"', '12345678901234567890');
  }

  async chunk(index, version) {
    const commit = this.written(index, version);
    if (commit < 0) return null;
    const key = `${index.join()}@${commit}`;
    if (!this.encoded.has(key)) this.encoded.set(key, await this.encode(index, version));
    return this.encoded.get(key);
  }

  async encode(index, version) {
    const total = this.chunks.reduce((a, b) => a * b, 1);
    if (this.type === 'string') return strings(total, (at) => String(this.value([index[0] * this.chunks[0] + at], version) ?? ''));
    const elements = new TYPES[this.type](total);
    if (this.whole) return Buffer.from(this.whole(elements, index).buffer);
    const place = new Array(this.shape.length);
    for (let at = 0; at < total; at += 1) {
      for (let left = at, dim = this.shape.length - 1; dim >= 0; dim -= 1) {
        place[dim] = index[dim] * this.chunks[dim] + (left % this.chunks[dim]);
        left = Math.floor(left / this.chunks[dim]);
      }
      const isInside = place.every((it, dim) => it < this.shape[dim]);
      elements[at] = isInside ? this.value(place, version) : this.type === 'int64' ? 0n : 0;
    }
    const bytes = new Uint8Array(elements.buffer);
    return Buffer.from(this.codec ? await CODECS[this.codec].make().encode(bytes) : bytes);
  }
}

function strings(total, of) {
  const parts = Array.from({ length: total }, (_, at) => Buffer.from(of(at)));
  const out = Buffer.alloc(4 + parts.reduce((sum, it) => sum + 4 + it.length, 0));
  out.writeUInt32LE(total, 0);
  let at = 4;
  for (const part of parts) {
    out.writeUInt32LE(part.length, at);
    part.copy(out, at + 4);
    at += 4 + part.length;
  }
  return out;
}

/** A repository: commits oldest first, refs, and nodes by path, each with the version since which it exists. */
export class MockRepository {
  constructor({ name, commits, branches, tags = {}, nodes, groups = {}, containers = [] }) {
    Object.assign(this, { name, commits, branches, tags, containers });
    this.nodes = new Map(Object.entries(nodes));
    this.groups = new Map(Object.entries({ '/': {}, ...groups }));
    this.place = new Map(commits.map((it, at) => [it.id, at]));
  }

  /** The paths of a version, in tree order. */
  paths(version) {
    const found = [...this.groups.keys(), ...[...this.nodes].filter(([, it]) => it.since <= version).map(([path]) => path)];
    return found.sort((a, b) => order(a, b));
  }

  document(path, version) {
    if (this.groups.has(path)) return JSON.stringify({ zarr_format: 3, node_type: 'group', attributes: this.groups.get(path) });
    return this.nodes.get(path).document(version);
  }
}

function order(a, b) {
  const [left, right] = [a.split('/').filter(Boolean), b.split('/').filter(Boolean)];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    if (left[at] !== right[at]) return left[at] < right[at] ? -1 : 1;
  }
  return left.length - right.length;
}

/** A straight history of so many commits after the first snapshot, one hour apart. */
export function straight(name, number, message, start = Date.UTC(2024, 0, 1)) {
  const commits = [{ id: FIRST, parent: null, time: start, message: 'Repository initialized', metadata: {} }];
  for (let at = 1; at <= number; at += 1) {
    commits.push({ id: idOf(`${name} ${at}`), parent: commits[at - 1].id, time: start + at * 3_600_000 * 7, message: message(at), metadata: { author: ['M. Okafor', 'J. Lindqvist', 'R. Ahumada'][at % 3] } });
  }
  return commits;
}
