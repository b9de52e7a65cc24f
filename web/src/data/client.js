// Calls the worker. A decode that runs away ends with the worker, and the next read starts another.
import { authorization } from '../state.js';

/** After so long without any answer, a worker counts as lost. */
const PATIENCE = 60_000;

const policy = globalThis.trustedTypes?.createPolicy('icefield-worker', {
  createScriptURL(text) {
    const url = new URL(text, document.baseURI);
    if (url.href !== new URL('worker.js', document.baseURI).href) throw new TypeError(`not the worker: ${text}`);
    return url.href;
  },
});

let worker = null;
let last = 0;
let heard = 0;
const waiting = new Map();

function fail(message) {
  worker?.terminate();
  worker = null;
  for (const { reject } of waiting.values()) reject(Object.assign(new Error(message), { name: 'WorkerError' }));
  waiting.clear();
}

function started() {
  if (worker) return worker;
  worker = new Worker(policy ? policy.createScriptURL('worker.js') : 'worker.js', { type: 'module' });
  worker.addEventListener('message', ({ data: { id, answer, error } }) => {
    heard = Date.now();
    const call = waiting.get(id);
    waiting.delete(id);
    if (!call) return;
    if (error) call.reject(Object.assign(new Error(error.message), error));
    else call.resolve(answer);
  });
  worker.addEventListener('error', (event) => fail(`the decoder ended: ${event.message ?? 'its script did not load'}`));
  return worker;
}

setInterval(() => {
  if (waiting.size && Date.now() - heard > PATIENCE) fail('the decoder did not answer for a minute and was ended');
}, 5_000);

/**
 * Reads a selection of the array at an address: per dimension a position, or `[start, stop]`, or `[start, stop, step]`.
 * Returns `{ shape, data, type, missing, requests, bytes }`, elements in C order.
 */
export function read(base, selection, signal) {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const id = ++last;
  if (!waiting.size) heard = Date.now();
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    signal?.addEventListener('abort', () => {
      if (!waiting.delete(id)) return;
      worker?.postMessage({ id, op: 'cancel' });
      reject(signal.reason);
    });
    started().postMessage({ id, op: 'read', base, selection, headers: authorization() });
  });
}
