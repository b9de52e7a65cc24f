// One array of the Zarr view as a store for zarrita, rooted at the array, so that no node name meets URL rules of another
// program. Remembers the chunks that do not exist: zarrita fills them, and the plot must not.

/** A chunk that exists and cannot be read. */
export class ReadError extends Error {
  constructor(status, key, detail) {
    super(detail?.message || `chunk ${key}: the server answered with status ${status}`);
    Object.assign(this, { name: 'ReadError', status, key, hint: detail?.hint ?? null });
  }
}

/** What the server says of a failure: an error of the API, or text. */
async function detail(response) {
  const text = await response.text().catch(() => '');
  try {
    return JSON.parse(text).error;
  } catch {
    return text ? { message: text.slice(0, 1000) } : null;
  }
}

export class ArrayStore {
  /** `base` is the address of the array and ends in a slash. */
  constructor(base, headers) {
    Object.assign(this, { base, headers, absent: new Set(), requests: 0, bytes: 0 });
  }

  async #request(key, init = {}) {
    this.requests += 1;
    const headers = { ...this.headers, ...init.headers };
    const response = await fetch(this.base + key.replace(/^\//, ''), { ...init, headers });
    if (response.status === 404) {
      this.absent.add(key);
      return undefined;
    }
    if (!response.ok) throw new ReadError(response.status, key, await detail(response));
    return response;
  }

  async #body(response) {
    const body = new Uint8Array(await response.arrayBuffer());
    this.bytes += body.length;
    return body;
  }

  async get(key, { signal } = {}) {
    const response = await this.#request(key, { signal });
    return response && this.#body(response);
  }

  async getRange(key, range, { signal } = {}) {
    const asked = 'suffixLength' in range ? `-${range.suffixLength}` : `${range.offset}-${range.offset + range.length - 1}`;
    const response = await this.#request(key, { signal, headers: { Range: `bytes=${asked}` } });
    if (!response) return undefined;
    const body = await this.#body(response);
    if (response.status === 206) return body;
    return 'suffixLength' in range ? body.slice(-range.suffixLength) : body.slice(range.offset, range.offset + range.length);
  }
}
