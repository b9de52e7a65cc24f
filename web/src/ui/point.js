// The line through a point of a field, along another dimension.
import { Loading, Problem, html, useAnswer, useMemo, useState } from './base.js';
import { read } from '../data/client.js';
import { bytes, count, counted, line } from '../text.js';
import { cost, isLarge, pieces, pointOf } from '../model/slice.js';
import { spelled } from '../plot/axis.js';
import { Line, gaps } from './line.js';

/** Where a point is: degrees where they are known, else coordinates or positions with the names of their dimensions. */
function whereabouts({ ready: { dims, curved }, plan, row, column }) {
  if (curved && curved.dims[0] === plan.y && curved.dims[1] === plan.x) {
    const at = row * curved.columns + column;
    return `${spelled(round(curved.latitudes[at]), 'latitude')}, ${spelled(round(curved.longitudes[at]), 'longitude')}`;
  }
  const of = (dim, position) => {
    const { name, role, decoding, coordinates } = dims[dim];
    if (!coordinates) return `${name} ${count(position)}`;
    const text = spelled(coordinates[position], role, decoding);
    return role ? text : `${name} ${text}`;
  };
  return `${of(plan.y, row)}, ${of(plan.x, column)}`;
}

function round(number) {
  return Math.round(number * 100) / 100;
}

export function PointLine({ base, other, page, node, plan, ready, decoding, unit, change, held, snapshot }) {
  const [allowed, setAllowed] = useState('');
  const [row, column] = pointOf(page);
  const isInside = row < node.shape[plan.y] && column < node.shape[plan.x];
  const wide = node.shape.map((_, at) => at).filter((at) => node.shape[at] > 1);
  const rest = wide.filter((at) => at !== plan.x && at !== plan.y);
  const asked = wide.includes(Number(page.along)) && page.along !== '' ? Number(page.along) : null;
  const along = asked ?? rest.find((at) => ready.dims[at].role === 'time') ?? rest[0] ?? plan.x;
  const selected = plan.positions.map((position, at) => {
    if (at === along) return [0, node.shape[at]];
    return at === plan.x ? column : at === plan.y ? row : position;
  });
  const lined = { shape: node.shape, chunks: node.chunk_shape, type: node.data_type, x: along, y: -1 };
  const whole = [0, 1, 0, node.shape[along]];
  const key = JSON.stringify([base, snapshot, selected]);
  const isAllowed = !isLarge(lined, whole) || allowed === node.path;
  const found = useAnswer(isInside && isAllowed && key, (signal) => read(base, selected, signal), { keep: true });
  const isThere = other && other.shape.length === node.shape.length && selected.every((it, at) => at === along || it < other.shape[at]);
  const earlier = isThere && selected.map((it, at) => (at === along ? [0, Math.min(node.shape[at], other.shape[at])] : it));
  const before = useAnswer(isThere && isInside && isAllowed && `${other.base} ${key}`, (signal) => read(other.base, earlier, signal));
  const dimension = ready.dims[along];
  const data = useMemo(() => {
    if (!found.value || found.value.data.length !== node.shape[along]) return null;
    const xs = dimension.coordinates ? Array.from(dimension.coordinates) : Array.from({ length: node.shape[along] }, (_, at) => at);
    // uPlot wants coordinates that grow.
    const turned = xs.length > 1 && xs[0] > xs.at(-1);
    const seen = (answer, rules, chunks) => {
      const numbers = Array.from(rules.numbers(answer.data));
      for (const index of answer.missing) {
        const lies = selected.every((it, at) => at === along || Math.floor(it / chunks[at]) === index[at]);
        if (!lies) continue;
        const start = index[along] * chunks[along];
        numbers.fill(NaN, start, start + chunks[along]);
      }
      while (numbers.length < xs.length) numbers.push(NaN);
      const ys = gaps(numbers);
      return turned ? ys.reverse() : ys;
    };
    const series = [{ name: 'Value', ys: seen(found.value, decoding, node.chunk_shape) }];
    if (before.value && isThere) series.push({ name: line(page.with, 30), ys: seen(before.value, other.decoding, other.chunks) });
    return { xs: turned ? xs.reverse() : xs, series, turned };
  }, [found.value, before.value, dimension]);
  if (!isInside) return null;
  const position = (at) => (data?.turned ? node.shape[along] - 1 - at : at);
  const where = whereabouts({ ready, plan, row, column });
  const pick = (at) => {
    if (along === plan.x || along === plan.y) return;
    const next = [...plan.positions];
    next[along] = position(at);
    change({ at: next.map((it, dim) => (dim === plan.x || dim === plan.y ? '' : it)).join(','), ...held() });
  };
  const mark = along === plan.x ? column : along === plan.y ? row : plan.positions[along];
  return html`<section class="point" aria-label="Line through the point">
    <div class="point-head"><h2>Through ${where}</h2>
      <label class="field-choice"><span>along</span><select id="along" value=${String(along)} onChange=${(event) => change({ along: event.currentTarget.value })}>
        ${wide.map((at) => html`<option key=${at} value=${String(at)}>${line(ready.dims[at].name, 40)}</option>`)}</select></label>
      <span class="grow"></span><button type="button" class="quiet" onClick=${() => change({ point: '', along: '' })}>Remove</button></div>
    ${!isAllowed && html`<p class="notice">This line reads ${bytes(cost(lined, whole))} in ${counted(pieces(lined, whole), 'chunk')}. <button type="button" onClick=${() => setAllowed(node.path)}>Read it</button></p>`}
    ${found.error && html`<${Problem} error=${found.error} again=${found.again} />`}
    ${isAllowed && !data && !found.error && html`<${Loading}>Reading the line…</${Loading}>`}
    ${data && html`<${Line} xs=${data.xs} series=${data.series} dimension=${dimension} unit=${unit} decoding=${decoding} mark=${position(mark)} onPick=${pick} caption=${`${line(node.path.split('/').at(-1), 60)}${unit ? ` (${line(unit, 30)})` : ''} along ${line(dimension.name, 40)}`} />`}
  </section>`;
}
