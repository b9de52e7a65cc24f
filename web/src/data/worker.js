// Reads and decodes chunks, apart from the page: codecs run here, under a policy of their own, without a DOM.
import { Array as ZarrArray, get, open, root, slice } from 'zarrita';
import { ArrayStore } from './store.js';

/** Decoded chunks kept, newest last, up to so many bytes. */
const KEPT_BYTES = 192 << 20;
const decoded = new Map();
let decodedBytes = 0;

/** Arrays that were opened, by their address. */
const opened = new Map();
const OPENED = 64;
const running = new Map();

function keep(key, chunk) {
  const size = chunk.data.byteLength ?? chunk.data.length * 32;
  if (size > KEPT_BYTES / 4) return;
  decoded.set(key, { chunk, size });
  decodedBytes += size;
  for (const [oldest, entry] of decoded) {
    if (decodedBytes <= KEPT_BYTES) break;
    decoded.delete(oldest);
    decodedBytes -= entry.size;
  }
}

async function arrayAt(base, headers) {
  const known = opened.get(base);
  if (known) {
    known.store.headers = headers;
    return known;
  }
  const store = new ArrayStore(base, headers);
  const array = await open.v3(root(store), { kind: 'array' });
  const chunkAt = ZarrArray.prototype.getChunk;
  array.getChunk = async (coordinates, ...rest) => {
    const key = `${base}|${coordinates.join()}`;
    const hit = decoded.get(key);
    if (hit) {
      decoded.delete(key);
      decoded.set(key, hit);
      return hit.chunk;
    }
    const chunk = await chunkAt.call(array, coordinates, ...rest);
    keep(key, chunk);
    return chunk;
  };
  const entry = { array, store };
  opened.set(base, entry);
  if (opened.size > OPENED) opened.delete(opened.keys().next().value);
  return entry;
}

/** Chunks asked for at a time: browsers refuse thousands of requests at once. */
const AT_ONCE = 24;

/** The queue of a read: a few tasks at a time, and none after one has failed. */
function queue() {
  const waiting = [];
  const all = [];
  let running = 0;
  let failed = false;
  const next = () => {
    while (running < AT_ONCE && waiting.length && !failed) {
      running += 1;
      waiting.pop()().finally(() => {
        running -= 1;
        next();
      });
    }
  };
  return {
    add(task) {
      all.push(new Promise((resolve, reject) => {
        waiting.push(() => task().then(resolve, (error) => {
          failed = true;
          reject(error);
        }));
      }));
    },
    onIdle() {
      waiting.reverse();
      next();
      return Promise.all(all);
    },
  };
}

/** The grid of whole objects: of shards, where there are shards. */
function missingChunks({ array, store }) {
  const length = array.shape.length;
  return [...store.absent]
    .map((key) => key.replace(/^\/(c\/?)?/, '').split(/[/.]/).filter(Boolean).map(Number))
    .filter((index) => index.length === length && index.every(Number.isInteger));
}

/** Returns the elements in C order, as an array that can be sent. */
function compact(result, shape) {
  let { data, stride } = result;
  if (!ArrayBuffer.isView(data) && !globalThis.Array.isArray(data)) {
    // Wrappers of zarrita: booleans, strings of fixed length.
    data = data._bytes ?? globalThis.Array.from(data);
    if (data instanceof ArrayBuffer) data = new Uint8Array(data);
  }
  let step = 1;
  const plain = shape.map((_, at) => {
    const below = shape.slice(at + 1).reduce((a, b) => a * b, 1);
    return stride[at] === below || shape[at] === 1;
  });
  if (plain.every(Boolean)) return data;
  const total = shape.reduce((a, b) => a * b, 1);
  const out = globalThis.Array.isArray(data) ? new globalThis.Array(total) : new data.constructor(total);
  const index = shape.map(() => 0);
  for (let at = 0; at < total; at += step) {
    out[at] = data[index.reduce((sum, it, dimension) => sum + it * stride[dimension], 0)];
    for (let dimension = shape.length - 1; dimension >= 0; dimension -= 1) {
      index[dimension] += 1;
      if (index[dimension] < shape[dimension]) break;
      index[dimension] = 0;
    }
  }
  return out;
}

async function read({ base, headers, selection }, signal) {
  const entry = await arrayAt(base, headers);
  const { array, store } = entry;
  const before = { requests: store.requests, bytes: store.bytes };
  const asked = selection.map((it) => (globalThis.Array.isArray(it) ? slice(...it) : it));
  const result = await get(array, asked.length ? asked : null, { signal, createQueue: queue });
  const isScalar = result === null || typeof result !== 'object' || !('shape' in result);
  return {
    shape: isScalar ? [] : result.shape,
    data: isScalar ? [result] : compact(result, result.shape),
    type: array.dtype,
    missing: missingChunks(entry),
    requests: store.requests - before.requests,
    bytes: store.bytes - before.bytes,
  };
}

function sent(error) {
  const { name, message, status, hint } = error;
  const cause = error.cause?.message;
  return { name, message: cause && !message.includes(cause) ? `${message}: ${cause}` : message, status, hint };
}

addEventListener('message', async ({ data: { id, op, ...request } }) => {
  if (op === 'cancel') {
    running.get(id)?.abort();
    return;
  }
  const control = new AbortController();
  running.set(id, control);
  try {
    const answer = await read(request, control.signal);
    // A copy is sent where the buffer may be a chunk that is kept.
    postMessage({ id, answer });
  } catch (error) {
    postMessage({ id, error: sent(error) });
  } finally {
    running.delete(id);
  }
});
