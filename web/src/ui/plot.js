// The plot of an array: a slice as a field, a line, or single values, and how it differs from another version.
import { Empty, Loading, Problem, html, useAnswer, useEffect, useMemo, useState } from './base.js';
import { askOnce, dataAddress } from '../api.js';
import { read } from '../data/client.js';
import { go } from '../state.js';
import { bytes, count, counted, line, value } from '../text.js';
import { MAPS } from '../plot/colours.js';
import { balanced, described } from '../plot/limits.js';
import { Decoding, parsed } from '../model/document.js';
import { coordinatesOf } from '../model/coordinates.js';
import { cost, isLarge, isNumeric, pieces, planned, pointOf, selection, strides, unwritten } from '../model/slice.js';
import { Field } from './field.js';
import { Line, gaps } from './line.js';
import { PointLine } from './point.js';
import { Sliders } from './sliders.js';
import { Values } from './values.js';
import { RefPicker } from './refs.js';
import { resolve } from './version.js';

const NAMES = { viridis: 'Viridis', cividis: 'Cividis', magma: 'Magma', inferno: 'Inferno', ice: 'Ice', grey: 'Grey', difference: 'Blue–red' };

export function Plot(props) {
  const { node, document } = props;
  if (!isNumeric(node.data_type)) return html`<${Values} ...${props} />`;
  if (node.shape.some((length) => Number(length) === 0)) return html`<${Empty} title="Empty">A dimension of this array has no elements.</${Empty}>`;
  if (document.chunk_grid?.name && document.chunk_grid.name !== 'regular') {
    return html`<${Empty} title="No plot">Chunks of unequal lengths cannot be decoded in the browser yet. The tab Chunks shows them.</${Empty}>`;
  }
  return html`<${NumericPlot} ...${props} />`;
}

function NumericPlot({ repository, page, version, node, document, base }) {
  const [picking, setPicking] = useState(false);
  const snapshot = node.snapshot ?? version.snapshot;
  const decoding = useMemo(() => new Decoding(document), [document]);
  const around = useAnswer(`coordinates ${snapshot} ${node.path}`, (signal) => coordinatesOf(repository, snapshot, node, document, signal), { keep: true });
  const chunks = node.chunk_shape;
  const ready = around.value && around.value.dims.length === node.shape.length ? around.value : null;
  const plan = useMemo(() => ready && planned({ shape: node.shape, chunks, type: node.data_type, roles: rolesOf(ready) }, page), [ready, page.x, page.y, page.at, page.region, node]);
  const other = useOther(repository, page.with, node);
  const here = useRead(base, plan, snapshot);
  const unfit = misfit(other.value, plan, node, ready?.dims, page.with);
  const there = useRead(!unfit && other.value?.base, plan, other.value?.snapshot);
  const isCompared = Boolean(page.with);
  const mode = isCompared ? page.mode || 'difference' : 'here';
  const picture = useMemo(() => pictureOf({ mode, here: here.value, there: unfit ? null : there.value, decoding, chunks, other: other.value }), [mode, here.value, there.value, decoding, other.value, Boolean(unfit)]);

  if (around.error) return html`<${Problem} error=${around.error} again=${around.again} />`;
  if (!ready || !plan) return html`<${Loading}>Reading the coordinates…</${Loading}>`;
  const failed = here.error ?? (isCompared ? other.error ?? unfit ?? there.error : null);
  const busy = here.loading || (isCompared && (other.loading || there.loading));
  const limits = limitsOf(page, picture, mode);
  const colours = Object.hasOwn(MAPS, page.colours) ? page.colours : mode === 'difference' ? 'difference' : isSeaIce(document) ? 'ice' : 'viridis';
  const change = (next) => go(next, { replace: true });
  const isFlat = plan.y < 0;
  const label = `${line(title(document, node), 120)}${mode === 'difference' ? `, difference from ${line(page.with, 60)}` : ''}`;
  const keys = (event) => {
    if (event.key === 'x' && !isFlat) change({ x: String(plan.y), y: String(plan.x), region: '' });
    else return false;
    return true;
  };
  // The limits stay while a slider moves, so that colours can be compared between slices.
  const held = () => (!page.limits && picture ? { limits: `${trim(limits.low)},${trim(limits.high)}` } : {});
  const unit = mode === 'difference' && decoding.time ? '' : decoding.time ? '' : decoding.units;
  const isCurved = ready.curved && plan.x === ready.curved.dims[1] && plan.y === ready.curved.dims[0];
  const isMap = isCurved && page.grid !== 'positions';

  return html`<div class="plot">
    <${Toolbar} ...${{ page, plan, ready, isFlat, isCurved, isMap, colours, limits, picture, change, node, openPicker: () => setPicking(true) }} />
    ${isCompared && html`<${Comparison} page=${page} mode=${mode} change=${change} picture=${picture} unit=${unit} busy=${busy} />`}
    ${!plan.isWhole && html`<p class="notice" role="status">Positions ${plan.window.slice(0, 2).join('–')} × ${plan.window.slice(2).join('–')}${page.region ? '' : ` of ${count(plan.y < 0 ? 1 : node.shape[plan.y])} × ${count(node.shape[plan.x])}, the part that can be read at once`}.
      ${' '}<button type="button" onClick=${() => change({ region: `0,${plan.y < 0 ? 1 : node.shape[plan.y]},0,${node.shape[plan.x]}` })}>Show all${biggest(node, plan)}</button></p>`}
    ${failed && html`<${Problem} error=${failed} again=${() => { here.again(); there.again(); other.again(); }}>
      ${page.with && html`<button type="button" onClick=${() => change({ with: '', mode: '' })}>Stop comparing</button>`}</${Problem}>`}
    ${!failed && !picture && html`<${Loading}>Reading the slice…</${Loading}>`}
    ${!failed && picture && node.shape.length === 0 && html`<p class="single"><strong>${decoding.text(picture.numbers[0])}</strong> ${unit}</p>`}
    ${!failed && picture && isFlat && node.shape.length > 0 && html`<${FlatLine} ...${{ picture, plan, ready, decoding, unit, mode, label }} />`}
    ${!failed && picture && !isFlat && html`<${Field} numbers=${picture.numbers} unwritten=${picture.unwritten} plan=${picture.plan} dims=${ready.dims} curved=${ready.curved} isMap=${isMap}
      colours=${colours} low=${limits.low} high=${limits.high} unit=${unit} decoding=${mode === 'difference' ? PLAIN : decoding} label=${label} busy=${busy} point=${pointOf(page)}
      onPoint=${(at) => change({ point: at.join(',') })} onRegion=${(at) => change({ region: at ? at.join(',') : '' })}
      onKeys=${keys} />`}
    ${node.shape.length > 0 && html`<${Sliders} node=${node} plan=${plan} dims=${ready.dims} busy=${busy} change=${(at) => change({ at, ...held() })} />`}
    ${!failed && picture && html`<${Legend} picture=${picture} mode=${mode} decoding=${decoding} unit=${unit} read=${here.value} busy=${busy} />`}
    ${!failed && page.show === 'table' && picture && !isFlat && html`<${NumberTable} picture=${picture} dims=${ready.dims} decoding=${mode === 'difference' ? PLAIN : decoding} point=${pointOf(page)} />`}
    ${!failed && !isFlat && pointOf(page) && html`<${PointLine} ...${{ base, other: other.value, page, node, plan, ready, decoding, unit, change, held, snapshot }} />`}
    ${picking && html`<${RefPicker} repository=${repository} current=${page.with} title="Compare this slice with a version" close=${() => setPicking(false)} choose=${(ref) => change({ with: ref, mode: '', limits: '' })} />`}
  </div>`;
}

/** The decoding of a difference: numbers with a unit, never times or flags. */
const PLAIN = { time: null, flags: null, text: (number) => (Number.isFinite(number) && number > 0 ? `+${value(number)}` : value(number)) };

function rolesOf({ dims, curved }) {
  const roles = dims.map((it) => it.role);
  if (curved && !roles.includes('latitude') && !roles.includes('longitude')) {
    roles[curved.dims[0]] = 'latitude';
    roles[curved.dims[1]] = 'longitude';
  }
  return roles;
}

function title({ attributes = {} }, node) {
  return attributes.long_name || attributes.standard_name || node.path;
}

function isSeaIce({ attributes = {} }) {
  return /\bice\b|snow/i.test(String(attributes.standard_name ?? '').replaceAll('_', ' '));
}

function trim(number) {
  return Number(number.toPrecision(6));
}

function biggest(node, plan) {
  const array = { shape: node.shape, chunks: node.chunk_shape, type: node.data_type, x: plan.x, y: plan.y };
  const whole = [0, plan.y < 0 ? 1 : node.shape[plan.y], 0, node.shape[plan.x]];
  return isLarge(array, whole) ? ` (reads ${bytes(cost(array, whole))} in ${counted(pieces(array, whole), 'chunk')})` : '';
}

/** The version that a slice is compared with: its snapshot, and where the same array is there. */
function useOther(repository, ref, node) {
  return useAnswer(ref && `other ${repository.name} ${ref} ${node.path}`, async (signal) => {
    const { snapshot } = await resolve(repository.name, ref, signal);
    let found;
    try {
      found = await askOnce([repository.name, 'node', snapshot], { path: node.path });
    } catch (error) {
      if (error.status === 404) error.message = `${line(node.path)} is not in ${line(ref)}`;
      throw error;
    }
    return { snapshot, base: dataAddress(repository, snapshot, node.path), shape: found.shape, chunks: found.chunk_shape, decoding: new Decoding(parsed(found.document)) };
  }, { keep: true });
}

/** Why a slice is not in the other version, or `null`: arrays that grew elsewhere still have it. */
function misfit(other, plan, node, dims, ref) {
  if (!other || !plan) return null;
  const wrong = (text) => Object.assign(new Error(text), { kind: 'invalid' });
  const [mine, theirs] = [node.shape, other.shape ?? []];
  const isOther = theirs.length !== mine.length || [plan.x, plan.y].some((at) => at >= 0 && theirs[at] !== mine[at]);
  if (isOther) return wrong(`In ${line(ref)} the array has the shape ${theirs.join(' × ')}, here ${mine.join(' × ')}: these slices cannot be subtracted.`);
  const beyond = plan.positions.findIndex((position, at) => at !== plan.x && at !== plan.y && position >= theirs[at]);
  return beyond < 0 ? null : wrong(`In ${line(ref)} the array ends before this slice: ${dims[beyond].name} has ${theirs[beyond]} elements there.`);
}

function useRead(base, plan, snapshot) {
  return useAnswer(base && plan && `${base} ${snapshot} ${JSON.stringify(selection(plan))}`, async (signal) => ({ ...(await read(base, selection(plan), signal)), plan }), { keep: true });
}

/** What is drawn: numbers in C order, of `here`, of `there`, or here minus there. Each version is decoded by its own document. */
function pictureOf({ mode, here, there, decoding, chunks, other }) {
  const source = mode === 'there' ? there : here;
  if (!source || (mode === 'difference' && (!there || !other || String(there.shape) !== String(here.shape)))) return null;
  const seen = (answer, rules, lengths) => ({ numbers: rules.numbers(answer.data), mask: answer.missing.length ? unwritten(answer.missing, answer.plan, lengths) : null });
  const now = mode === 'there' ? seen(there, other?.decoding ?? decoding, other?.chunks ?? chunks) : seen(here, decoding, chunks);
  if (mode !== 'difference') return finish({ numbers: now.numbers, unwritten: now.mask, plan: source.plan });
  const before = seen(there, other.decoding, other.chunks);
  const out = new Float64Array(now.numbers.length);
  const none = ({ numbers, mask }, at) => Number.isNaN(numbers[at]) || Boolean(mask?.[at]);
  let changed = 0;
  for (let at = 0; at < out.length; at += 1) {
    const [noneNow, noneBefore] = [none(now, at), none(before, at)];
    out[at] = noneNow || noneBefore ? NaN : now.numbers[at] - before.numbers[at];
    if (noneNow !== noneBefore || (!noneNow && now.numbers[at] !== before.numbers[at])) changed += 1;
  }
  const both = now.mask && before.mask ? now.mask.map((it, at) => it & before.mask[at]) : null;
  return { ...finish({ numbers: out, unwritten: both, plan: here.plan }), changed, total: out.length };
}

function finish(picture) {
  const { numbers, unwritten: mask } = picture;
  const seen = mask ? numbers.map((it, at) => (mask[at] ? NaN : it)) : numbers;
  return { ...picture, facts: described(seen), dots: mask ? mask.reduce((a, b) => a + b, 0) : 0 };
}

function limitsOf(page, picture, mode) {
  const [low, high] = page.limits.split(',').map(Number);
  if (page.limits && Number.isFinite(low) && Number.isFinite(high) && low < high) return { low, high, isFixed: true };
  if (!picture) return { low: 0, high: 1, isFixed: false };
  return { ...(mode === 'difference' ? balanced(picture.facts) : { low: picture.facts.low, high: picture.facts.high }), isFixed: false };
}

function Toolbar({ page, plan, ready, isFlat, isCurved, isMap, colours, limits, picture, change, node, openPicker }) {
  const choice = (id, text, chosen, onChange) => html`<label class="field-choice"><span>${text}</span><select id=${id} value=${String(chosen)} onChange=${(event) => onChange(event.currentTarget.value)}>
    ${ready.dims.map((dim, at) => html`<option key=${at} value=${String(at)}>${line(dim.name, 40)} (${count(dim.length)})</option>`)}</select></label>`;
  const pick = (which) => (next) => {
    const [other, mine] = which === 'x' ? ['y', plan.x] : ['x', plan.y];
    const swapped = Number(next) === plan[other] ? { [other]: String(mine) } : { [other]: String(plan[other]) };
    change({ [which]: next, ...swapped, region: '', point: '' });
  };
  const set = (side) => (event) => {
    const number = Number(event.currentTarget.value);
    const next = side === 'low' ? [number, limits.high] : [limits.low, number];
    if (Number.isFinite(number) && next[0] < next[1]) change({ limits: next.map(trim).join(',') });
  };
  return html`<div class="toolbar" role="group" aria-label="Plot">
    ${!isFlat && choice('dim-y', 'Up', plan.y, pick('y'))}
    ${node.shape.length > 1 && choice('dim-x', 'Across', plan.x, pick('x'))}
    ${isCurved && html`<label class="field-choice"><span>Grid</span><select value=${isMap ? 'map' : 'positions'} onChange=${(event) => change({ grid: event.currentTarget.value === 'map' ? '' : 'positions' })}>
      <option value="map">Map</option><option value="positions">Positions</option></select></label>`}
    ${!isFlat && html`<label class="field-choice"><span>Colours</span><select id="colours" value=${colours} onChange=${(event) => change({ colours: event.currentTarget.value })}>
      ${Object.keys(MAPS).map((name) => html`<option key=${name} value=${name}>${NAMES[name]}</option>`)}</select></label>
    <span class="limits" role="group" aria-label="Limits of the colours">
      <label class="field-choice"><span>From</span><input type="number" step="any" value=${trim(limits.low)} onChange=${set('low')} /></label>
      <label class="field-choice"><span>to</span><input type="number" step="any" value=${trim(limits.high)} onChange=${set('high')} /></label>
      <button type="button" disabled=${!picture} title="Fit the colours to the middle 96 % of this slice" onClick=${() => change({ limits: '' })}>2–98 %</button>
      <button type="button" disabled=${!picture} title="From the least to the greatest number of this slice" onClick=${() => change({ limits: [picture.facts.least, picture.facts.most].map(trim).join(',') })}>All</button></span>`}
    <span class="grow"></span>
    ${!isFlat && html`<button type="button" aria-pressed=${page.show === 'table'} onClick=${() => change({ show: page.show === 'table' ? '' : 'table' })}>Table</button>`}
    <button type="button" id="compare-slice" class=${page.with ? 'on' : ''} onClick=${openPicker}>${page.with ? `Compared with ${line(page.with, 24)}` : 'Compare with…'}</button>
  </div>`;
}

function Comparison({ page, mode, change, picture, unit, busy }) {
  const options = [['here', 'This version'], ['there', line(page.with, 30)], ['difference', 'Difference']];
  return html`<div class="comparison"><div class="segments" role="radiogroup" aria-label="What to draw">
    ${options.map(([name, text]) => html`<label key=${name} class=${mode === name ? 'segment on' : 'segment'}><input type="radio" name="mode" value=${name} checked=${mode === name} onChange=${() => change({ mode: name, limits: '' })} />${text}</label>`)}</div>
    ${mode === 'difference' && picture && !busy && html`<p role="status">${picture.changed === 0 ? 'The slice is the same in both versions.'
      : html`<strong>${counted(picture.changed, 'element')}</strong> of ${count(picture.total)} differ${Number.isFinite(picture.facts.least) ? `, by ${PLAIN.text(picture.facts.least)} to ${PLAIN.text(picture.facts.most)} ${unit}` : ''}`}</p>`}
    <button type="button" class="quiet" onClick=${() => change({ with: '', mode: '', limits: '' })}>Stop comparing</button></div>`;
}

function Legend({ picture, mode, decoding, unit, read: answer, busy }) {
  const { facts, dots } = picture;
  const text = (number) => (mode === 'difference' ? PLAIN.text(number) : decoding.text(number));
  const none = facts.none - dots;
  return html`<ul class="legend" aria-label="About this slice">
    ${facts.valid > 0 && html`<li>${text(facts.least)} to ${text(facts.most)} ${unit}</li>${!decoding.time && html`<li>mean ${text(facts.mean)} ${unit}</li>`}`}
    ${none > 0 && html`<li><span class="swatch hatched" aria-hidden="true"></span>${count(none)} without data</li>`}
    ${dots > 0 && html`<li><span class="swatch dotted" aria-hidden="true"></span>${count(dots)} in chunks that were never written</li>`}
    ${answer && html`<li class="muted">${answer.requests ? `${counted(answer.requests, 'request')}, ${bytes(answer.bytes)}` : 'from the cache of this page'}</li>`}
    ${busy && html`<li class="muted">reading…</li>`}
  </ul>`;
}

function FlatLine({ picture, plan, ready, decoding, unit, mode, label }) {
  const dimension = ready.dims[plan.x];
  const [, , x0, x1] = picture.plan.window;
  const data = useMemo(() => ({
    xs: Array.from({ length: x1 - x0 }, (_, at) => (dimension.coordinates ? dimension.coordinates[at + x0] : at + x0)),
    series: [{ name: mode === 'difference' ? 'Difference' : 'Value', ys: gaps(picture.unwritten ? picture.numbers.map((it, at) => (picture.unwritten[at] ? NaN : it)) : picture.numbers) }],
  }), [picture, dimension]);
  return html`<${Line} ...${data} dimension=${dimension} unit=${unit} decoding=${mode === 'difference' ? PLAIN : decoding} height=${360} caption=${label} />`;
}

const TABLE_ROWS = 18;
const TABLE_COLUMNS = 10;

/** The numbers around the point, as text. */
function NumberTable({ picture, dims, decoding, point }) {
  const { plan, numbers, unwritten: mask } = picture;
  const [y0, y1, x0, x1] = plan.window;
  const { down, right } = strides(plan);
  const clamp = (at, size, from, to) => Math.max(from, Math.min(Math.max(from, to - size), at));
  const initial = () => (point ? [clamp(point[0] - 8, TABLE_ROWS, y0, y1), clamp(point[1] - 4, TABLE_COLUMNS, x0, x1)] : [y0, x0]);
  const [corner, setCorner] = useState(initial);
  useEffect(() => setCorner(initial()), [String(point), String(plan.window)]);
  const heading = (dimension, at) => (dimension.coordinates ? dimension.decoding.text(dimension.coordinates[at]) : String(at));
  const rows = Array.from({ length: Math.min(TABLE_ROWS, y1 - corner[0]) }, (_, at) => at + corner[0]);
  const columns = Array.from({ length: Math.min(TABLE_COLUMNS, x1 - corner[1]) }, (_, at) => at + corner[1]);
  const move = (dr, dc) => setCorner(([r, c]) => [clamp(r + dr, TABLE_ROWS, y0, y1), clamp(c + dc, TABLE_COLUMNS, x0, x1)]);
  return html`<section class="numbers-table" aria-label="Numbers of the slice"><div class="pager">
      <button type="button" onClick=${() => move(-TABLE_ROWS, 0)}>Rows before</button><button type="button" onClick=${() => move(TABLE_ROWS, 0)}>Rows after</button>
      <button type="button" onClick=${() => move(0, -TABLE_COLUMNS)}>Columns before</button><button type="button" onClick=${() => move(0, TABLE_COLUMNS)}>Columns after</button></div>
    <div class="table-box" tabindex="0" role="region" aria-label="Numbers"><table><thead><tr><th scope="col">${line(dims[plan.y].name, 30)} \\ ${line(dims[plan.x].name, 30)}</th>${columns.map((at) => html`<th key=${at} scope="col">${heading(dims[plan.x], at)}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row}><th scope="row">${heading(dims[plan.y], row)}</th>${columns.map((column) => {
        const at = (row - y0) * down + (column - x0) * right;
        return html`<td key=${column}>${mask?.[at] ? 'not written' : decoding.text(numbers[at])}</td>`;
      })}</tr>`)}</tbody></table></div></section>`;
}
