// The state of the page. All of it that a link must carry is in the query of the address; the rest is gone on a reload.

/** What the address may hold, with the value that it does not spell out. */
const DEFAULTS = {
  repo: '', ref: '', view: 'data', path: '', tab: 'plot', q: '', hide: [],
  // The slice: dimensions across and up, positions of the others, region, colour map, limits, point, dimension of the line.
  x: '', y: '', at: '', region: '', colours: '', limits: '', point: '', along: '', grid: '', show: '',
  // The comparison: another version, and which of the two is drawn.
  with: '', mode: '',
  from: '', to: '', node: '', fromnode: '', commit: '', by: '', run: '', theme: '',
};
const LISTS = new Set(['hide']);

/** Reads a state from the query of an address. */
export function parse(search) {
  const query = new URLSearchParams(search);
  const state = {};
  for (const [name, initial] of Object.entries(DEFAULTS)) {
    state[name] = LISTS.has(name) ? query.getAll(name).slice(0, 64) : (query.get(name) ?? initial);
  }
  return state;
}

/** Writes a state as the query of an address. */
export function format(state) {
  const query = new URLSearchParams();
  for (const [name, initial] of Object.entries(DEFAULTS)) {
    const value = state[name];
    if (LISTS.has(name)) value.forEach((it) => query.append(name, it));
    else if (value !== initial && value !== undefined) query.set(name, value);
  }
  // Slashes and colons are legal in a query, and paths are easier to read with them.
  const text = query.toString().replaceAll('%2F', '/').replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text ? `?${text}` : location.pathname;
}

/** What belongs to one array, and goes when another is opened. */
const OF_NODE = ['x', 'y', 'at', 'region', 'limits', 'point', 'along', 'grid', 'show'];

let current = parse(location.search);
const listeners = new Set();

export function state() {
  return current;
}

function publish() {
  for (const listener of listeners) listener(current);
}

/** Changes the state. `replace` changes the address in place, for what is no step of its own in the history of the browser. */
export function go(change, { replace = false } = {}) {
  const next = { ...current, ...change };
  if ('path' in change && change.path !== current.path) {
    for (const name of OF_NODE) if (!(name in change)) next[name] = DEFAULTS[name];
  }
  if ('repo' in change && change.repo !== current.repo) {
    Object.assign(next, { ...DEFAULTS, theme: current.theme }, change);
  }
  const isSame = format(current) === format(next);
  if (!replace && !isSame) write();
  current = next;
  if (!isSame && replace) pending ??= setTimeout(write, REST);
  else if (!isSame) history.pushState(null, '', format(current));
  publish();
}

/** Browsers refuse addresses that change too often, as under a slider that is dragged. */
const REST = 120;
let pending = null;

/** Writes the state into the address, if that waits. */
function write() {
  if (pending === null) return;
  clearTimeout(pending);
  pending = null;
  history.replaceState(null, '', format(current));
}

/** Returns the address of a changed state, for links. */
export function link(change) {
  const next = { ...current, ...change };
  if ('path' in change && change.path !== current.path) {
    for (const name of OF_NODE) if (!(name in change)) next[name] = DEFAULTS[name];
  }
  return format(next);
}

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

addEventListener('pagehide', write);
addEventListener('popstate', () => {
  clearTimeout(pending);
  pending = null;
  current = parse(location.search);
  publish();
});

let token = '';

/** Takes a token out of the fragment once. It stays in memory alone. */
export function takeToken() {
  const found = /(?:^#|&)token=([^&]*)/.exec(location.hash);
  if (!found) return;
  token = decodeURIComponent(found[1]);
  history.replaceState(null, '', location.pathname + location.search);
}

export function setToken(text) {
  token = text;
}

/** Returns the headers of a request. */
export function authorization() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}
