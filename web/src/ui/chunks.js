// The chunk map of an array: where each chunk is, how large it is, and which commit wrote it.
import { Empty, Go, Loading, Problem, html, useAnswer, useCallback, useEffect, useMemo, useState } from './base.js';
import { askOnce } from '../api.js';
import { go } from '../state.js';
import { bytes, count, counted, firstLine, line, shape, time } from '../text.js';
import { table } from '../plot/colours.js';
import { SheetMap } from './sheet.js';
import { capacity, cellCounts, flats } from '../model/sheet.js';

const KINDS = ['native', 'inline', 'virtual'];
const WHERE = { native: 'in the repository', inline: 'in the manifest', virtual: 'in another file', missing: 'not written' };
const ROWS = 100;

/** Which commit wrote each cell. Asked on until all are explained, by the person who looks. */
function useBlame(repository, snapshot, path, counts, isWanted) {
  const [known, setKnown] = useState({ commits: [], of: new Map(), next: null, scanned: 0, error: null, busy: false });
  const more = useCallback(async (from) => {
    setKnown((it) => ({ ...it, busy: true, error: null }));
    try {
      const answer = await askOnce([repository.name, 'blame', snapshot], { path, cursor: from.next ?? undefined });
      const of = new Map(from.of);
      const offset = from.commits.length;
      const places = flats(counts, answer.cells.index);
      answer.cells.commit.forEach((commit, at) => !of.has(places[at]) && of.set(places[at], commit + offset));
      setKnown({ commits: [...from.commits, ...answer.commits], of, next: answer.next, scanned: from.scanned + Number(answer.scanned), error: null, busy: false });
    } catch (error) {
      setKnown((it) => ({ ...it, error, busy: false }));
    }
  }, [repository.name, snapshot, path]);
  useEffect(() => {
    const none = { commits: [], of: new Map(), next: null, scanned: 0, error: null, busy: false };
    setKnown(none);
    if (isWanted) more(none);
  }, [isWanted, more]);
  return { ...known, more: () => more(known) };
}

export function ChunkMap({ repository, page, version, node }) {
  const snapshot = node.snapshot ?? version.snapshot;
  const found = useAnswer(`chunks ${snapshot} ${node.path}`, () => askOnce([repository.name, 'chunks', snapshot], { path: node.path }));
  if (found.error) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (!found.value) return html`<${Loading}>Reading the manifests…</${Loading}>`;
  return html`<${LoadedMap} ...${{ repository, page, node, snapshot, answer: found.value }} />`;
}

function LoadedMap({ repository, page, node, snapshot, answer }) {
  const { grid, cell, exact, totals, cells } = answer;
  const counts = useMemo(() => cellCounts(grid, cell), [answer]);
  const by = ['kind', 'size', 'commit'].includes(page.by) ? page.by : 'kind';
  const blame = useBlame(repository, snapshot, node.path, counts, by === 'commit');
  const [picked, setPicked] = useState(-1);
  const at = useMemo(() => new Map(flats(counts, cells.index).map((flat, place) => [flat, place])), [answer]);
  const sizes = useMemo(() => {
    let [least, most] = [Infinity, 0];
    for (const size of cells.bytes) {
      least = Math.min(least, Number(size));
      most = Math.max(most, Number(size));
    }
    return { least, most };
  }, [answer]);
  const total = counts.reduce((a, b) => a * b, 1);
  const indexOf = (flat) => unflatten(flat, counts);
  const of = (flat) => {
    const place = at.get(flat);
    const held = place === undefined ? [0, 0, 0] : KINDS.map((kind) => Number(cells[kind][place]));
    return { held, sum: held[0] + held[1] + held[2], bytes: place === undefined ? 0 : Number(cells.bytes[place]), capacity: capacity(indexOf(flat), grid, cell) };
  };
  const look = useCallback((flat, style) => {
    const { held, sum, bytes: size, capacity: most } = of(flat);
    if (!sum) return {};
    const part = sum / most;
    if (by === 'size') return { fill: colourAt('viridis', sizes.most > sizes.least ? (size - sizes.least) / (sizes.most - sizes.least) : 0.6), part: 1 };
    if (by === 'commit') {
      const commit = blame.of.get(flat);
      return commit === undefined ? { fill: style.getPropertyValue('--line-strong'), part: 0.4 } : { fill: colourAt('viridis', 1 - commit / Math.max(1, blame.commits.length - 1)), part: 1 };
    }
    const kinds = KINDS.filter((_, kind) => held[kind]);
    const kind = kinds.length > 1 ? KINDS[held.indexOf(Math.max(...held))] : kinds[0];
    return { fill: style.getPropertyValue(`--${kind}`), mark: kinds.length > 1 ? 'mixed' : kind, part };
  }, [answer, by, blame.of]);
  const describe = (flat) => {
    const { held, sum, bytes: size, capacity: most } = of(flat);
    const index = indexOf(flat);
    const title = exact ? `Chunk ${index.join(', ') || '(only one)'}` : `Chunks ${index.map((it, dim) => range(it * cell[dim], Math.min(grid[dim], (it + 1) * cell[dim]))).join(', ')}`;
    const kinds = KINDS.filter((_, kind) => held[kind]);
    const what = !sum ? 'not written' : exact ? `${kinds[0]}, ${bytes(size)}` : `${count(sum)} of ${count(most)}: ${kinds.join(', ')}, ${bytes(size)}`;
    const commit = by === 'commit' && sum ? blame.commits[blame.of.get(flat)] : null;
    return { title, detail: commit ? `${what}; ${commit.id.slice(0, 6)} ${firstLine(commit.message, 60)}` : what };
  };
  if (!total) return html`<${Empty} title="No chunks">A dimension of this array has no elements.</${Empty}>`;
  return html`<div class="chunk-map">
    <${Totals} totals=${totals} />
    <div class="toolbar"><div class="segments" role="radiogroup" aria-label="What colours mean">
      ${[['kind', 'Kind'], ['size', 'Size'], ['commit', 'Last commit']].map(([name, text]) => html`<label key=${name} class=${by === name ? 'segment on' : 'segment'}><input type="radio" name="by" checked=${by === name} onChange=${() => go({ by: name === 'kind' ? '' : name }, { replace: true })} />${text}</label>`)}</div>
      <p class="muted">${grid.length ? `${grid.map((it, dim) => `${line(node.dimension_names?.[dim] ?? '', 24)} ${count(it)}`.trim()).join(' × ')} chunks of ${shape(node.chunk_shape)}` : 'one chunk'}${exact ? '' : `, in cells of ${shape(cell)} chunks`}</p></div>
    <${SheetMap} counts=${counts} look=${look} describe=${describe} picked=${picked} onPick=${setPicked} label=${`Chunk map of ${line(node.path, 100)}; the table below has the same`} />
    <${Key} by=${by} sizes=${sizes} blame=${blame} />
    ${by === 'commit' && html`<${Blame} blame=${blame} written=${at.size} />`}
    ${picked >= 0 && exact && html`<${ChunkFacts} ...${{ repository, snapshot, node, index: indexOf(picked) }} />`}
    <${CellTable} ...${{ total, counts, of, indexOf, exact, blame: by === 'commit' ? blame : null }} />
  </div>`;
}

function unflatten(flat, counts) {
  const index = new Array(counts.length);
  let left = flat;
  for (let at = counts.length - 1; at >= 0; at -= 1) {
    index[at] = left % counts[at];
    left = Math.floor(left / counts[at]);
  }
  return index;
}

export function range(from, to) {
  return to - from === 1 ? String(from) : `${from}–${to - 1}`;
}

function colourAt(name, part) {
  const at = Math.round(Math.max(0, Math.min(1, part)) * 255) * 3;
  const map = table(name);
  return `rgb(${map[at]},${map[at + 1]},${map[at + 2]})`;
}

function Totals({ totals }) {
  const kinds = [...KINDS, 'missing'];
  const number = (kind) => Number(kind === 'missing' ? totals.missing?.count ?? totals.missing ?? 0 : totals[kind].count);
  const all = kinds.reduce((sum, kind) => sum + number(kind), 0) || 1;
  return html`<div class="totals"><div class="stack" aria-hidden="true">${kinds.map((kind) => number(kind) > 0 && html`<span key=${kind} class=${`part ${kind}`} style=${{ flexGrow: number(kind) / all }}></span>`)}</div>
    <ul>${kinds.map((kind) => number(kind) > 0 && html`<li key=${kind}><span class=${`swatch ${kind}`} aria-hidden="true"></span><strong>${count(number(kind))}</strong> ${kind === 'missing' ? 'not written' : kind}${' '}
      ${kind !== 'missing' && html`<span class="muted">${bytes(totals[kind].bytes)} ${WHERE[kind]}</span>`}</li>`)}</ul></div>`;
}

function Key({ by, sizes, blame }) {
  if (by === 'kind') return null;
  return html`<p class="ramp-key"><span>${by === 'size' ? bytes(sizes.least === Infinity ? 0 : sizes.least) : blame.commits.length ? `oldest, ${time(blame.commits.at(-1).written_at)}` : 'oldest'}</span><span class="ramp viridis" aria-hidden="true"></span><span>${by === 'size' ? bytes(sizes.most) : blame.commits.length ? `newest, ${time(blame.commits[0].written_at)}` : 'newest'}</span></p>`;
}

function Blame({ blame, written }) {
  if (blame.error) return html`<${Problem} error=${blame.error} again=${blame.more} />`;
  if (blame.busy && !blame.commits.length) return html`<${Loading}>Reading the logs of commits…</${Loading}>`;
  const held = new Map();
  for (const commit of blame.of.values()) held.set(commit, (held.get(commit) ?? 0) + 1);
  const top = [...held].sort((a, b) => a[0] - b[0]).slice(0, 30);
  return html`<section class="blame"><h2>Last written by</h2><p class="muted" role="status">${counted(blame.scanned, 'commit')} read${written > blame.of.size && !blame.busy ? `, ${counted(written - blame.of.size, 'cell')} not explained${blame.next ? ' yet' : ''}` : ''}.
      ${blame.next && html` <button type="button" disabled=${blame.busy} onClick=${blame.more}>Read further back</button>`}</p>
    <ol>${top.map(([at, cells]) => html`<li key=${at}><${Go} to=${{ view: 'history', commit: blame.commits[at].id }}><code>${blame.commits[at].id.slice(0, 6)}</code> ${firstLine(blame.commits[at].message, 100) || 'No message'}</${Go}> <span class="muted">${time(blame.commits[at].written_at)}, ${counted(cells, 'cell')}</span></li>`)}</ol></section>`;
}

function ChunkFacts({ repository, snapshot, node, index }) {
  const found = useAnswer(`chunk ${snapshot} ${node.path} ${index.join()}`, () => askOnce([repository.name, 'chunk', snapshot], { path: node.path, index: index.join(',') }));
  if (found.error) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (!found.value) return html`<${Loading} />`;
  const it = found.value;
  const from = index.map((at, dim) => at * node.chunk_shape[dim]);
  const rows = [
    ['Kind', `${it.kind}, ${WHERE[it.kind]}`],
    ['Elements', from.map((start, dim) => range(start, Math.min(node.shape[dim], start + node.chunk_shape[dim]))).join(' × ') || 'the only one'],
    it.kind !== 'missing' && ['Size', `${bytes(it.bytes)}${Number(it.bytes) >= 1000 ? ` (${count(it.bytes)} bytes)` : ''}`],
    it.key && ['Object', html`<code>${line(it.key, 200)}</code>${it.offset ? ` from byte ${count(it.offset)}` : ''}`],
    it.location && ['File', html`<code>${line(it.location, 1000)}</code>${it.offset !== undefined ? ` from byte ${count(it.offset)}` : ''}`],
    it.location && ['Grant', it.granted === false ? 'missing: this server must not read the file; start it with --grant' : it.granted ? 'given' : 'not known'],
    it.checksum && ['Checksum', html`<code>${line(it.checksum, 200)}</code>`],
  ].filter(Boolean);
  return html`<section class="chunk-facts" aria-live="polite"><h2>Chunk ${index.join(', ') || '(only one)'}</h2><dl>${rows.map(([name, text]) => html`<div key=${name}><dt>${name}</dt><dd>${text}</dd></div>`)}</dl></section>`;
}

function CellTable({ total, of, indexOf, exact, blame }) {
  const [first, setFirst] = useState(0);
  const [open, setOpen] = useState(false);
  const rows = open ? Array.from({ length: Math.min(ROWS, total - first) }, (_, at) => first + at) : [];
  return html`<details class="cell-table" onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>The map as a table (${counted(total, exact ? 'chunk' : 'cell')})</summary>
    ${open && html`<div class="table-box" tabindex="0" role="region" aria-label="Chunks"><table><thead><tr><th scope="col">${exact ? 'Chunk' : 'Cell'}</th><th scope="col">Kind</th><th scope="col">Size</th>${blame && html`<th scope="col">Last commit</th>`}</tr></thead>
      <tbody>${rows.map((flat) => {
        const { held, sum, bytes: size, capacity: most } = of(flat);
        const commit = blame?.commits[blame.of.get(flat)];
        return html`<tr key=${flat}><th scope="row">${indexOf(flat).join(', ') || '(only one)'}</th><td>${sum ? KINDS.filter((_, kind) => held[kind]).join(', ') : 'not written'}${exact || !sum ? '' : `, ${count(sum)} of ${count(most)}`}</td><td>${sum ? bytes(size) : ''}</td>
          ${blame && html`<td>${commit ? `${commit.id.slice(0, 6)} ${firstLine(commit.message, 60)}` : ''}</td>`}</tr>`;
      })}</tbody></table></div>
      <div class="pager"><button type="button" disabled=${first === 0} onClick=${() => setFirst(Math.max(0, first - ROWS))}>Before</button><span>${count(first)}–${count(first + rows.length - 1)} of ${count(total)}</span>
        <button type="button" disabled=${first + ROWS >= total} onClick=${() => setFirst(first + ROWS)}>After</button></div>`}</details>`;
}

