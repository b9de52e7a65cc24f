// What zarrita and neuroglancer ask of a server, in Node and in a page. Runs in both, so that nothing of either is imported.
import * as zarr from 'zarrita';

/** Reads an array, and returns its shape and the digest of its elements, or the text of the error. */
export async function read(job) {
  try {
    return await found(job);
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

async function found({ url, path, format, isSuffix, isConsolidated }) {
  const plain = new zarr.FetchStore(url, { useSuffixRequest: isSuffix });
  const store = isConsolidated ? await zarr.withConsolidatedMetadata(plain, { format: format === 2 ? 'v2' : 'v3' }) : plain;
  const opener = { 2: zarr.open.v2, 3: zarr.open.v3 }[format] ?? zarr.open;
  const array = await opener(zarr.root(store).resolve(path), { kind: 'array' });
  const listed = isConsolidated ? store.contents().map((it) => it.path).sort() : undefined;
  const part = await zarr.get(array);
  // Of an array without dimensions, zarrita returns the element itself.
  const elements = array.shape.length === 0 ? [part] : part.data;
  const isTyped = ArrayBuffer.isView(elements);
  const bytes = isTyped ? new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength) : new TextEncoder().encode(JSON.stringify([...elements]));
  return { shape: array.shape, digest: await digest(bytes), listed };
}

async function digest(bytes) {
  const hash = await crypto.subtle.digest('SHA-256', bytes);
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The requests of neuroglancer for an array with shards, in their order: is the URL a file, what is in the directory, which format
 * is it, how long is a shard, its index, an inner chunk, and a shard that was never written.
 */
export async function neuroglancer({ url, array, shard, absent, indexLength }) {
  const base = `${url}${array}`;
  const seen = {};
  const ask = async (name, target, options = {}) => {
    const response = await fetch(target, { cache: 'no-store', ...options });
    seen[name] = response.status;
    return response;
  };
  await ask('a file', base, { method: 'HEAD' });
  await ask('its first byte', base, { headers: { Range: 'bytes=0-0' } });
  const page = await ask('directory', `${base}/`, { headers: { Accept: 'text/html' } });
  const links = [...(await page.text()).matchAll(/href="([^"]*)"/g)].map((it) => new URL(it[1], `${base}/`).href);
  const entries = links.filter((it) => it.startsWith(`${base}/`)).map((it) => it.slice(base.length + 1));
  for (const key of ['info', '.zarray', '.zgroup', '.zattrs', 'attributes.json']) await ask(key, `${base}/${key}`, { method: 'HEAD' });
  const document = await (await ask('zarr.json', `${base}/zarr.json`)).json();
  const length = async (response) => Number(response.headers.get('Content-Length'));
  const whole = await length(await ask('shard', `${base}/${shard}`, { method: 'HEAD' }));
  // Where HEAD is not allowed, it asks for a byte.
  const byte = await ask('byte', `${base}/${shard}`, { headers: { Range: 'bytes=0-0' } });
  const range = async (name, start, end) => {
    const response = await ask(name, `${base}/${shard}`, { headers: { Range: `bytes=${start}-${end - 1}` } });
    return { bytes: new Uint8Array(await response.arrayBuffer()), range: response.headers.get('Content-Range') };
  };
  const index = await range('index', whole - indexLength, whole);
  const words = new BigUint64Array(index.bytes.buffer.slice(0, indexLength - 4));
  const at = [...words.keys()].filter((it) => it % 2 === 0 && words[it] !== 2n ** 64n - 1n);
  const inner = [];
  for (const word of at) {
    const start = Number(words[word]);
    const { bytes } = await range('inner chunk', start, start + Number(words[word + 1]));
    inner.push({ number: word / 2, bytes: [...bytes] });
  }
  await ask('absent', `${base}/${absent}`, { method: 'HEAD' });
  return { seen, entries, shape: document.shape, whole, total: byte.headers.get('Content-Range'), index: index.range, inner };
}
