// Two versions side by side: which nodes differ, and how: attributes, document, chunks, and the slice itself.
import { Empty, Go, Loading, Problem, html, useAnswer, useCallback, useEffect, useMemo, useRef, useState } from './base.js';
import { VirtualList } from './virtual.js';
import { ask, askOnce } from '../api.js';
import { go } from '../state.js';
import { block, count, counted, firstLine, line, shape, time } from '../text.js';
import { RefPicker } from './refs.js';
import { SheetMap } from './sheet.js';
import { capacity, cellCounts, flats } from '../model/sheet.js';
import { MARKS, WORDS, changeText } from './changes.js';
import { range } from './chunks.js';
import { parsed } from '../model/document.js';
import { difference } from '../model/difference.js';
import { isId } from './version.js';

const PAGE = 200;

export function CompareView({ repository, page, version }) {
  const [picking, setPicking] = useState(null);
  const to = page.to || page.ref || repository.default || 'main';
  const from = page.from || version.parent || '';
  const isFixed = isId(from) && isId(to);
  const question = { from, to, limit: PAGE, offset: 0 };
  const found = useAnswer(from && to && `diff ${repository.name} ${from} ${to}`, (signal) => (isFixed ? askOnce([repository.name, 'diff'], question) : ask([repository.name, 'diff'], question, signal)));
  const side = (name, ref, facts) => html`<button type="button" class="side" id=${`side-${name}`} onClick=${() => setPicking(name)}><span class="side-name">${name === 'from' ? 'From' : 'To'}</span>
    <strong>${line(ref || 'choose', 40)}</strong>${facts && html`<span class="muted">${firstLine(facts.message, 60) || 'No message'}</span><span class="muted small">${time(facts.written_at)}</span>`}</button>`;
  return html`<div class="compare">
    <header class="compare-head"><h1 class="offscreen">Compare</h1>${side('from', from, found.value?.from)}
      <button type="button" class="swap" aria-label="Swap the two versions" onClick=${() => go({ from: to, to: from, node: '' })}>⇄</button>${side('to', to, found.value?.to)}
      ${found.value && html`<${Counts} counts=${found.value.counts} />`}</header>
    ${!from && html`<${Empty} title="Nothing before it">This is the first snapshot. Choose another version to compare with.</${Empty}>`}
    ${found.error && html`<${Problem} error=${found.error} again=${found.again} />`}
    ${found.loading && html`<${Loading}>Comparing…</${Loading}>`}
    ${found.value && html`<${Changes} key=${`${from} ${to}`} ...${{ repository, page, first: found.value, from: found.value.from.id, to: found.value.to.id }} />`}
    ${picking && html`<${RefPicker} repository=${repository} current=${picking === 'from' ? from : to} title=${picking === 'from' ? 'Compare from' : 'Compare to'} close=${() => setPicking(null)} choose=${(ref) => go({ from, to, [picking]: ref, node: '' })} />`}
  </div>`;
}

function Counts({ counts }) {
  const shown = ['added', 'deleted', 'updated', 'moved'].filter((it) => Number(counts[it]));
  return html`<ul class="counts">${shown.map((it) => html`<li key=${it} class=${`change ${it}`}><span class="change-mark" aria-hidden="true">${MARKS[it]}</span> ${count(counts[it])} ${WORDS[it]}</li>`)}
    ${Number(counts.chunks) > 0 && html`<li class="change chunks"><span class="change-mark" aria-hidden="true">${MARKS.chunks}</span> ${counted(counts.chunks, 'chunk')}</li>`}</ul>`;
}

function Changes({ repository, page, first, from, to }) {
  const pages = useRef(new Map([[0, first.nodes]]));
  const [, redraw] = useState(0);
  const [active, setActive] = useState(0);
  const node = (at) => pages.current.get(Math.floor(at / PAGE))?.[at % PAGE];
  const load = useCallback((begin, end) => {
    for (let number = Math.floor(begin / PAGE); number <= Math.floor(Math.max(begin, end - 1) / PAGE); number += 1) {
      if (pages.current.has(number)) continue;
      pages.current.set(number, []);
      askOnce([repository.name, 'diff'], { from, to, limit: PAGE, offset: number * PAGE }).then((answer) => {
        pages.current.set(number, answer.nodes);
        redraw((it) => it + 1);
      }, () => pages.current.delete(number));
    }
  }, [from, to]);
  const chosen = page.node || (first.nodes[0]?.path ?? '');
  useEffect(() => {
    const at = first.nodes.findIndex((it) => it.path === chosen);
    if (at >= 0) setActive(at);
  }, [chosen]);
  if (!Number(first.total)) return html`<${Empty} title="Nothing changed">Both versions hold the same nodes and chunks.</${Empty}>`;
  return html`<div class="split"><section class="tree" aria-label="Nodes that differ"><${VirtualList} id="changes" className="tree-list" label="Nodes that differ" total=${Number(first.total)} height=${40} active=${active} setActive=${setActive} onRange=${load}
      onOpen=${(at) => node(at) && go({ node: node(at).path, fromnode: node(at).from_path ?? '', from, to })}
      row=${(at) => {
        const it = node(at);
        if (!it) return { content: html`<span class="ghost"></span>`, props: { 'aria-selected': false, 'aria-label': 'being read' } };
        const size = Number(it.chunks);
        return {
          props: { class: `change ${it.change}`, 'aria-selected': it.path === chosen },
          content: html`<span class="change-mark" aria-hidden="true">${MARKS[it.change]}</span><span class="grow change-path">${line(it.path, 160)}</span><span class="offscreen">${changeText(it)}</span><span class="muted small" aria-hidden="true">${it.error ? 'unreadable' : size ? counted(size, 'chunk') : WORDS[it.change]}</span>`,
        };
      }} /></section>
    <section class="content" aria-label="The difference">${chosen ? html`<${NodeDifference} key=${chosen} ...${{ repository, page, from, to, path: chosen, fromPath: page.node ? page.fromnode : first.nodes[0].from_path ?? '' }} />` : html`<${Empty} title="Choose a node">Choose one on the left to see its attributes and chunks.</${Empty}>`}</section></div>`;
}

function NodeDifference({ repository, from, to, path, fromPath }) {
  const found = useAnswer(`diff-node ${from} ${to} ${path} ${fromPath}`, () => askOnce([repository.name, 'diff-node'], { from, to, path, from_path: fromPath }));
  const documents = useMemo(() => found.value && [found.value.from_document, found.value.to_document].map((it) => (it === null || it === undefined ? null : parsed(it))), [found.value]);
  if (found.error) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (!found.value) return html`<${Loading}>Comparing the node…</${Loading}>`;
  const it = found.value;
  const [before, after] = documents;
  const isArray = Boolean(it.grid);
  return html`<header class="node-head"><div class="node-title"><h2>${line(path, 160)}</h2></div><p class="muted">${!before ? 'Added' : !after ? 'Deleted' : it.from_path && it.from_path !== path ? `Moved from ${line(it.from_path, 160)}` : 'In both versions'}</p>
      ${isArray && before && after && html`<p><${Go} class="button primary" to=${{ view: 'data', ref: to, path, tab: 'plot', with: from, mode: '' }}>Draw the difference of a slice</${Go}></p>`}</header>
    <div class="tab-body"><${DocumentDifference} before=${before} after=${after} />${isArray && html`<${ChangedChunks} it=${it} path=${path} />`}</div>`;
}

function DocumentDifference({ before, after }) {
  const rows = useMemo(() => difference(before ?? {}, after ?? {}), [before, after]);
  if (!rows.length) return html`<section><h2>Document</h2><p class="muted">The document is the same.</p></section>`;
  return html`<section><h2>Document</h2><div class="table-box" tabindex="0" role="region" aria-label="Members that differ"><table class="attribute-table"><thead><tr><th scope="col">Member</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>${rows.slice(0, 300).map(({ name, before: old, after: now }, at) => html`<tr key=${at}><th scope="row"><code>${line(name, 200)}</code></th><td class="words old">${old === undefined ? html`<span class="muted">absent</span>` : block(old, 5000)}</td><td class="words new">${now === undefined ? html`<span class="muted">absent</span>` : block(now, 5000)}</td></tr>`)}</tbody></table></div>
    ${rows.length > 300 && html`<p class="muted">and ${rows.length - 300} more</p>`}</section>`;
}

const ROWS = 100;

function ChangedChunks({ it, path }) {
  const { grid, cell, exact, cells } = it;
  const counts = useMemo(() => cellCounts(grid, cell), [it]);
  const places = useMemo(() => flats(counts, cells.index), [it]);
  const at = useMemo(() => new Map(places.map((flat, place) => [flat, Number(cells.changed[place])])), [it]);
  const indexOf = (flat) => {
    const index = new Array(counts.length);
    for (let dim = counts.length - 1, left = flat; dim >= 0; dim -= 1) {
      index[dim] = left % counts[dim];
      left = Math.floor(left / counts[dim]);
    }
    return index;
  };
  const look = useCallback((flat, style) => {
    const changed = at.get(flat);
    return changed ? { fill: style.getPropertyValue('--changed'), part: exact ? 1 : changed / capacity(indexOf(flat), grid, cell) } : {};
  }, [it]);
  const name = (flat) => {
    const index = indexOf(flat);
    return exact ? index.join(', ') || '(only one)' : index.map((place, dim) => range(place * cell[dim], Math.min(grid[dim], (place + 1) * cell[dim]))).join(' × ');
  };
  const resized = it.from_grid && String(it.from_grid) !== String(grid);
  return html`<section><h2>Chunks</h2><p>${Number(it.changed) ? html`<strong>${counted(it.changed, 'chunk')}</strong> of ${count(grid.reduce((a, b) => a * b, 1))} changed, of ${shape(it.chunk_shape)} elements each.` : 'No chunk changed.'}${resized ? ` The grid was ${shape(it.from_grid)} and is ${shape(grid)}.` : ''}</p>
    ${counts.reduce((a, b) => a * b, 1) > 0 && html`<${SheetMap} id="changed-chunks" counts=${counts} look=${look} describe=${(flat) => ({ title: `${exact ? 'Chunk' : 'Chunks'} ${name(flat)}`, detail: at.get(flat) ? (exact ? 'changed' : `${count(at.get(flat))} changed`) : 'the same' })} label=${`Chunks of ${line(path, 100)} that changed; the table below has the same`} />`}
    <details class="cell-table"><summary>Changed chunks as a table</summary><div class="table-box" tabindex="0" role="region" aria-label="Changed chunks"><table><thead><tr><th scope="col">${exact ? 'Chunk' : 'Chunks'}</th><th scope="col">Changed</th></tr></thead>
      <tbody>${places.slice(0, ROWS).map((flat) => html`<tr key=${flat}><th scope="row">${name(flat)}</th><td>${count(at.get(flat))}</td></tr>`)}</tbody></table></div>${places.length > ROWS && html`<p class="muted">The first ${ROWS} of ${count(places.length)}.</p>`}</details></section>`;
}
