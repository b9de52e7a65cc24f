// Requests to the server. Answers under the id of a snapshot never change, so they are kept.
import { authorization } from './state.js';

/** The address above the page: `/-/`. */
const ROOT = new URL('../', document.baseURI);
/** Answers kept, newest last. */
const kept = new Map();
const KEPT = 400;

/** An answer that is an error, or no answer. */
export class ApiError extends Error {
  constructor(status, { kind = 'failure', message = '', hint = null, object = null } = {}) {
    super(message || `the server answered with status ${status}`);
    Object.assign(this, { status, kind, hint, object });
  }
}

async function failure(response) {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error);
  } catch {
    return new ApiError(response.status);
  }
}

async function fetched(url, signal) {
  let response;
  try {
    response = await fetch(url, { headers: { Accept: 'application/json', ...authorization() }, signal });
  } catch (cause) {
    if (cause.name === 'AbortError') throw cause;
    throw new ApiError(0, {
      kind: 'unreachable',
      message: 'The server does not answer.',
      hint: 'Look whether `icefield serve` still runs, then try again.',
    });
  }
  if (!response.ok) throw await failure(response);
  return response.json();
}

function address(segments, query = {}) {
  const url = new URL(['api', ...segments.map(encodeURIComponent)].join('/'), ROOT);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') url.searchParams.append(name, one);
    }
  }
  return url.href;
}

/** Asks for what may change. */
export function ask(segments, query, signal) {
  return fetched(address(segments, query), signal);
}

/** Asks for what never changes, because a snapshot id is in the address. Requests that run are shared. */
export function askOnce(segments, query) {
  const url = address(segments, query);
  const known = kept.get(url);
  if (known) {
    kept.delete(url);
    kept.set(url, known);
    return known;
  }
  const answer = fetched(url);
  kept.set(url, answer);
  // What is not in a snapshot never will be.
  answer.catch((error) => error.status !== 404 && kept.delete(url));
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return answer;
}

/** Forgets all answers, after a token was given. */
export function forget() {
  kept.clear();
}

/** Returns the address of a node's data, which ends in a slash. */
export function dataAddress(repository, snapshot, path) {
  const segments = [snapshot, ...path.split('/').filter(Boolean)].map(encodeURIComponent);
  return new URL(`${repository.base}${segments.join('/')}/`, location.origin).href;
}
