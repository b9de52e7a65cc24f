// The answers of `/-/api`, over canned repositories.
import { FIRST } from './repository.mjs';

const MB = 1_000_000;
const CELLS = 100_000;

export class ApiProblem extends Error {
  constructor(status, kind, message, hint = null) {
    super(message);
    Object.assign(this, { status, body: { error: { kind, message, hint, object: null } } });
  }
}

const missing = (message) => new ApiProblem(404, 'not-found', message);

function cutText(text, limit, name) {
  return text.length > limit ? { [name]: text.slice(0, limit), [`${name}_bytes`]: Buffer.byteLength(text) } : { [name]: text };
}

function refsOf(repository, id) {
  return [...Object.entries(repository.branches).map(([name, tip]) => [name, tip]), ...Object.entries(repository.tags).map(([name, tip]) => [`tag:${name}`, tip])].filter(([, tip]) => tip === id).map(([name]) => name);
}

function snapshot(repository, commit) {
  return { id: commit.id, parent: commit.parent, written_at: new Date(commit.time).toISOString().replace('.000', ''), ...cutText(commit.message, 16_384, 'message'), metadata: commit.metadata, refs: refsOf(repository, commit.id), merged: commit.merged ?? [] };
}

/** Finds the commit that a revision means. */
export function resolved(repository, ref) {
  const [, start, time, back] = /^(.*?)(?:@([\dT:Z.+-]+))?(?:~(\d+))?$/su.exec(ref);
  const tip = start.startsWith('tag:') ? repository.tags[start.slice(4)] : repository.branches[start.replace(/^branch:/, '')] ?? repository.tags[start];
  let commit = repository.commits[repository.place.get(tip ?? start)];
  const kind = start.startsWith('tag:') || (!repository.branches[start] && repository.tags[start]) ? 'tag' : tip ? 'branch' : 'snapshot';
  if (!commit) throw missing(`there is no branch, tag or snapshot "${ref}"`);
  while (time && commit && commit.time > Date.parse(time)) commit = repository.commits[repository.place.get(commit.parent)];
  for (let left = Number(back ?? 0); left > 0 && commit; left -= 1) commit = repository.commits[repository.place.get(commit.parent)];
  if (!commit) throw missing(`the history of "${start}" is shorter`);
  return { commit, kind, version: commit.data ?? repository.place.get(commit.id) };
}

function node(repository, path, version) {
  const depth = path.split('/').filter(Boolean).length;
  if (repository.groups.has(path)) return { path, depth, kind: 'group', attributes: Object.keys(repository.groups.get(path)).length };
  const array = repository.nodes.get(path);
  const attributes = typeof array.attributes === 'function' ? array.attributes(version) : array.attributes;
  const text = (value) => (typeof value === 'string' ? value.slice(0, 256) : null);
  return {
    path, depth, kind: 'array', attributes: Object.keys(attributes).length, shape: array.shape, chunk_shape: array.chunks, chunk_counts: array.grid, shard: null, data_type: array.type, dimension_names: array.dims,
    codecs: [array.type === 'string' ? 'vlen-utf8' : 'bytes', ...(array.codec ? [array.codec] : [])], fill_value: array.fill, units: text(attributes.units), title: text(attributes.long_name ?? attributes.standard_name),
  };
}

/** Adds the places of nodes once, so that 10,000 of them cost nothing per request. */
const listed = new Map();
function pathsOf(repository, version) {
  const key = `${repository.name} ${repository.name === 'wide' ? 0 : version}`;
  if (!listed.has(key)) listed.set(key, repository.paths(version));
  return listed.get(key);
}

function arrayAt(repository, path, version) {
  const array = repository.nodes.get(path);
  if (!array || array.since > version) throw missing(`there is no array at ${path}`);
  return array;
}

/** Cells of a grid: one chunk each, up to a number of cells. */
function cellOf(grid) {
  const cell = grid.map(() => 1);
  const total = () => grid.reduce((product, length, at) => product * Math.ceil(length / cell[at]), 1);
  while (total() > CELLS) {
    const at = grid.map((length, dim) => length / cell[dim]).reduce((best, length, dim, all) => (length > all[best] ? dim : best), 0);
    cell[at] *= 2;
  }
  return cell;
}

/** Gathers values by cell: `of(index)` gives what a chunk adds, or nothing. */
function gathered(array, of, start, add) {
  const cell = cellOf(array.grid);
  const cells = new Map();
  const index = array.grid.map(() => 0);
  const total = array.grid.reduce((a, b) => a * b, 1);
  for (let at = 0; at < total; at += 1) {
    const found = of(index);
    if (found) {
      const place = index.map((it, dim) => Math.floor(it / cell[dim]));
      const key = place.join();
      if (!cells.has(key)) cells.set(key, { place, held: start() });
      add(cells.get(key).held, found);
    }
    for (let dim = index.length - 1; dim >= 0; dim -= 1) {
      index[dim] += 1;
      if (index[dim] < array.grid[dim]) break;
      index[dim] = 0;
    }
  }
  const all = [...cells.values()].sort((a, b) => a.place.reduce((sum, it, dim) => sum || it - b.place[dim], 0));
  return { cell, exact: cell.every((it) => it === 1), all, index: all.flatMap((it) => it.place) };
}

function guess(array) {
  const item = { float64: 8, int64: 8, float32: 4, int32: 4, int16: 2, uint8: 1 }[array.type] ?? 16;
  return array.chunks.reduce((a, b) => a * b, 1) * item;
}

/** Maps of many chunks, by array and version. */
const maps = new WeakMap();

function chunkMap(array, version) {
  if (!maps.has(array)) maps.set(array, new Map());
  const known = maps.get(array);
  if (!known.has(version)) known.set(version, mapped(array, version));
  return known.get(version);
}

function mapped(array, version) {
  return gathered(array, (index) => (array.written(index, version) < 0 ? null : { kind: array.kindOf(index), bytes: Math.round(guess(array) * (array.codec ? 0.31 + 0.2 * Math.abs(Math.sin(index.reduce((a, b) => a * 7 + b, 1))) : 1)) }),
    () => ({ native: 0, inline: 0, virtual: 0, bytes: 0, by: { native: 0, inline: 0, virtual: 0 } }), (held, { kind, bytes }) => {
      held[kind] += 1;
      held.bytes += bytes;
      held.by[kind] += bytes;
    });
}

function totals(array, map) {
  const sum = (kind) => ({ count: map.all.reduce((total, it) => total + it.held[kind], 0), bytes: map.all.reduce((total, it) => total + it.held.by[kind], 0) });
  const [native, inline, virtual] = ['native', 'inline', 'virtual'].map(sum);
  return { native, inline, virtual, missing: array.grid.reduce((a, b) => a * b, 1) - native.count - inline.count - virtual.count };
}

function changes(repository, from, to) {
  const found = [];
  const union = new Set([...pathsOf(repository, from), ...pathsOf(repository, to)]);
  for (const path of union) {
    const array = repository.nodes.get(path);
    if (!array) continue;
    const [had, has] = [array.since <= from, array.since <= to];
    const row = { path, kind: 'array', from_path: null, chunks: 0 };
    if (has) row.chunks = changedChunks(array, had ? from : -1, to).all.reduce((sum, it) => sum + it.held.changed, 0);
    if (had && !has) found.push({ ...row, change: 'deleted' });
    else if (!had) found.push({ ...row, change: 'added' });
    else if (array.document(from) !== array.document(to)) found.push({ ...row, change: 'updated' });
    else if (row.chunks) found.push({ ...row, change: 'chunks' });
  }
  return found;
}

function changedChunks(array, from, to) {
  return gathered(array, (index) => ((from < 0 ? -1 : array.written(index, from)) === array.written(index, to) ? null : 1), () => ({ changed: 0 }), (held) => {
    held.changed += 1;
  });
}

/** The answers by name. Each takes the repository, the rest of the path, and the query. */
export const ANSWERS = {
  refs: (repository) => ({ branches: Object.entries(repository.branches).map(([name, tip]) => ({ name, snapshot: tip, error: null })), tags: Object.entries(repository.tags).map(([name, tip]) => ({ name, snapshot: tip, error: null })), truncated: false }),
  resolve(repository, [ref]) {
    const { commit, kind } = resolved(repository, ref);
    const { id, ...facts } = snapshot(repository, commit);
    return { ref, kind, snapshot: id, ...facts };
  },
  history(repository, _, query) {
    const limit = Math.min(100, Number(query.get('limit') ?? 100));
    const q = (query.get('q') ?? '').toLowerCase();
    const sorted = [...repository.commits].sort((a, b) => b.time - a.time);
    let at = Number(query.get('cursor') ?? 0);
    const found = [];
    const from = at;
    while (at < sorted.length && found.length < limit && at - from < 2000) {
      const commit = sorted[at++];
      if (!q || commit.message.toLowerCase().includes(q) || commit.id.toLowerCase().startsWith(q)) found.push(snapshot(repository, commit));
    }
    return { snapshots: found, next: at < sorted.length ? String(at) : null, scanned: at - from };
  },
  tree(repository, [ref], query) {
    const { commit, version } = resolved(repository, ref);
    const q = (query.get('q') ?? '').toLowerCase();
    const hidden = query.getAll('hide').map((it) => (it === '/' ? '/' : `${it}/`));
    let paths = pathsOf(repository, version).filter((path) => !hidden.some((it) => path !== '/' && path.startsWith(it)));
    if (q) {
      const matches = paths.filter((path) => {
        const it = node(repository, path, version);
        return [path, it.data_type, it.title, ...(it.dimension_names ?? [])].some((text) => text?.toLowerCase().includes(q));
      });
      const kept = new Set(matches.flatMap((path) => ['/', ...path.split('/').map((_, at, all) => all.slice(0, at + 1).join('/')).filter(Boolean)]));
      paths = matches.length ? paths.filter((path) => kept.has(path)) : [];
    }
    const offset = Number(query.get('offset') ?? 0);
    const limit = Math.min(500, Number(query.get('limit') ?? 200));
    const all = pathsOf(repository, version);
    const arrays = all.filter((path) => repository.nodes.has(path)).length;
    return { snapshot: commit.id, offset, total: paths.length, arrays, groups: all.length - arrays, nodes: paths.slice(offset, offset + limit).map((path) => node(repository, path, version)) };
  },
  node(repository, [ref], query) {
    const { commit, version } = resolved(repository, ref);
    const path = query.get('path');
    if (!repository.groups.has(path)) arrayAt(repository, path, version);
    const text = repository.document(path, version);
    return { ...node(repository, path, version), id: 'AAAAAAAAAAAAA', snapshot: commit.id, document: text.slice(0, MB), document_bytes: Buffer.byteLength(text) };
  },
  sizes(repository, [ref], query) {
    const { commit, version } = resolved(repository, ref);
    return { snapshot: commit.id, sizes: query.getAll('path').slice(0, 50).map((path) => ({ path, ...totals(arrayAt(repository, path, version), chunkMap(arrayAt(repository, path, version), version)) })) };
  },
  chunks(repository, [ref], query) {
    const { commit, version } = resolved(repository, ref);
    const array = arrayAt(repository, query.get('path'), version);
    const map = chunkMap(array, version);
    const column = (name) => map.all.map((it) => it.held[name]);
    return { snapshot: commit.id, path: query.get('path'), shape: array.shape, chunk_shape: array.chunks, grid: array.grid, cell: map.cell, exact: map.exact, totals: totals(array, map), cells: { index: map.index, native: column('native'), inline: column('inline'), virtual: column('virtual'), bytes: column('bytes') } };
  },
  chunk(repository, [ref], query) {
    const { version } = resolved(repository, ref);
    const array = arrayAt(repository, query.get('path'), version);
    const index = (query.get('index') || '').split(',').filter(Boolean).map(Number);
    if (array.written(index, version) < 0) return { index, kind: 'missing', bytes: 0 };
    const kind = array.kindOf(index);
    const bytes = guess(array);
    if (kind === 'virtual') return { index, kind, bytes, offset: 40_960, location: 'https://data.example.org/anomaly/1984.nc', checksum: '"5f3a-61c2"', granted: false };
    return { index, kind, bytes, ...(kind === 'native' ? { offset: 0, key: `chunks/${version}${index.join('')}KQJ8N4T2M6` } : {}) };
  },
  diff(repository, _, query) {
    const [from, to] = ['from', 'to'].map((it) => resolved(repository, query.get(it)));
    const all = changes(repository, from.version, to.version);
    const offset = Number(query.get('offset') ?? 0);
    const limit = Number(query.get('limit') ?? 200);
    const number = (change) => all.filter((it) => it.change === change).length;
    return { from: snapshot(repository, from.commit), to: snapshot(repository, to.commit), total: all.length, counts: { added: number('added'), deleted: number('deleted'), updated: number('updated'), moved: 0, chunks: all.reduce((sum, it) => sum + it.chunks, 0) }, nodes: all.slice(offset, offset + limit) };
  },
  'diff-node'(repository, _, query) {
    const [from, to] = ['from', 'to'].map((it) => resolved(repository, query.get(it)).version);
    const path = query.get('path');
    const array = repository.nodes.get(path);
    if (!array) throw missing(`there is no node at ${path}`);
    const map = changedChunks(array, array.since <= from ? from : -1, to);
    const text = (version) => (array.since <= version ? array.document(version).slice(0, MB) : null);
    return { path, from_path: null, from_document: text(from), to_document: text(to), grid: array.grid, from_grid: array.grid, chunk_shape: array.chunks, cell: map.cell, exact: map.exact, changed: map.all.reduce((sum, it) => sum + it.held.changed, 0), cells: { index: map.index, changed: map.all.map((it) => it.held.changed) } };
  },
  blame(repository, [ref], query) {
    const { version } = resolved(repository, ref);
    const array = arrayAt(repository, query.get('path'), version);
    const map = gathered(array, (index) => ({ at: array.written(index, version) }), () => ({ at: -1 }), (held, { at }) => {
      held.at = Math.max(held.at, at);
    });
    const all = map.all.filter((it) => it.held.at >= 0);
    const ids = [...new Set(all.map((it) => it.held.at))].sort((a, b) => b - a);
    return { commits: ids.map((at) => snapshot(repository, repository.commits[at])), grid: array.grid, cell: map.cell, exact: map.exact, cells: { index: all.flatMap((it) => it.place), commit: all.map((it) => ids.indexOf(it.held.at)) }, unknown: 0, scanned: Math.min(500, version), next: null };
  },
  du(repository, _, query) {
    const by = query.get('by') ?? 'summary';
    const amount = (count, bytes) => ({ count, bytes });
    if (by === 'summary') return { snapshots: amount(69, 210_000), transaction_logs: amount(69, 41_000), manifests: amount(130, 2_400_000), chunk_objects: amount(812, 418_000_000), live_bytes: 402_000_000, native: amount(812, 402_000_000), inline: amount(44, 39_000), virtual: amount(120, 82_000_000), stored: amount(1091, 437_000_000), garbage: { total: amount(11, 16_300_000), snapshots: amount(1, 3000), transaction_logs: amount(1, 900), manifests: amount(2, 80_000), chunk_objects: amount(7, 16_200_000) }, missing_chunks: 0 };
    const { commit, version } = resolved(repository, query.get('ref') ?? 'main');
    const row = (name, more = {}) => ({ name, objects: amount(18, 4_200_000), unique: amount(2, 300_000), native: amount(18, 4_200_000), inline: amount(0, 0), virtual: amount(3, 900_000), ...more });
    const rows = by === 'array' ? pathsOf(repository, version).filter((it) => repository.nodes.has(it)).map((path) => { const array = repository.nodes.get(path); const sum = totals(array, chunkMap(array, version)); return row(path, { objects: sum.native, ...sum }); })
      : by === 'ref' ? Object.entries(repository.branches).map(([name, tip]) => row(`branch ${name}`, { snapshot_id: tip })) : by === 'commit' ? repository.commits.slice(1, 40).reverse().map((it, at) => row(it.id, { snapshot_id: it.id, message: it.message, objects: amount(at, at * 90_000) })) : repository.containers.map((it) => row(it.prefix, { objects: amount(0, 0), native: amount(0, 0) }));
    return { by, ref: commit.id, rows: rows.slice(0, 10_000), total: row('total'), missing_chunks: 0 };
  },
  fsck(repository) {
    if (repository.name !== 'hostile') return { sound: true, damage: 0, findings: [{ severity: 'note', kind: 'unused-object', key: `chunks/${FIRST}`, rule: 'no ref reaches this object', snapshot: null, path: null, index: null, count: 1, refs: [], tips: [], advice: 'A collection deletes it: `icefield gc`.' }] };
    const text = Object.keys(repository.branches)[1];
    return { sound: false, damage: 2, findings: [{ severity: 'damage', kind: 'missing-chunk', key: `chunks/${text}`, rule: `a chunk object is missing ${text}`, snapshot: FIRST, path: `/${text}`, index: [0, 0], count: 2, refs: [text], tips: [`branch:${text}`], advice: 'Restore the object, or run `icefield fsck --repair`.' }, { severity: 'warning', kind: 'x', key: 'manifests/X', rule: 'extents are too large', snapshot: null, path: null, index: null, count: 1, refs: [], tips: [], advice: null }] };
  },
  grants: (repository) => ({ containers: repository.containers }),
};
