// A line of numbers over a dimension, drawn by uPlot, with the same numbers as a table.
import { html, useAnswer, useDark, useEffect, useRef, useSize } from './base.js';
import { value } from '../text.js';

const ROWS = 300;

/** `xs` and `ys` of the same length; `dimension` names the coordinates, `mark` is the position that is marked. */
export function Line({ xs, series, dimension, unit, decoding, mark, onPick, height = 220, caption }) {
  const frame = useRef();
  const plot = useRef(null);
  const marked = useRef(mark);
  marked.current = mark;
  const { width } = useSize(frame);
  const dark = useDark();
  const uPlot = useAnswer('uplot', async () => (await import('../plot/uplot.js')).default).value;
  const spelledX = (x) => (dimension.decoding ? dimension.decoding.text(x) : value(x));

  useEffect(() => {
    if (!uPlot || width < 80 || !xs.length) return undefined;
    const style = getComputedStyle(frame.current);
    const read = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: read('--muted'), font: `12px ${style.fontFamily}`, grid: { stroke: read('--line'), width: 1 }, ticks: { stroke: read('--line-strong'), width: 1, size: 4 } };
    const made = new uPlot({
      width, height,
      padding: [12, dimension.decoding?.time ? 44 : 16, 0, 0],
      cursor: { points: { size: 7 }, drag: { x: false, y: false } },
      legend: { show: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, space: dimension.decoding?.time ? 96 : 60, values: (_, all) => all.map((it) => (dimension.decoding?.time ? spelledX(it).slice(0, 10) : spelledX(it))) },
        { ...axis, size: 62, values: (_, all) => all.map((it) => value(it)) },
      ],
      series: [{}, ...series.map((it, at) => ({
        label: it.name, stroke: read(at ? '--second' : '--accent'), width: 1.75, dash: at ? [6, 4] : undefined,
        points: { show: xs.length < 80, size: 4, fill: read(at ? '--second' : '--accent') }, spanGaps: false,
      }))],
      hooks: {
        draw: [(chart) => {
          if (marked.current === null || marked.current === undefined) return;
          const x = chart.valToPos(xs[marked.current], 'x', true);
          chart.ctx.save();
          chart.ctx.strokeStyle = read('--ink');
          chart.ctx.setLineDash([3, 3]);
          chart.ctx.beginPath();
          chart.ctx.moveTo(x, chart.bbox.top);
          chart.ctx.lineTo(x, chart.bbox.top + chart.bbox.height);
          chart.ctx.stroke();
          chart.ctx.restore();
        }],
      },
    }, [xs, ...series.map((it) => it.ys)], frame.current);
    plot.current = made;
    const pick = () => made.cursor.idx !== null && made.cursor.idx !== undefined && onPick?.(made.cursor.idx);
    made.over.addEventListener('click', pick);
    const show = frame.current.parentElement.querySelector('.line-readout');
    made.over.addEventListener('mousemove', () => {
      const at = made.cursor.idx;
      if (at === null || at === undefined) return;
      show.textContent = `${spelledX(xs[at])}: ${series.map((it) => `${series.length > 1 ? `${it.name} ` : ''}${it.ys[at] === null ? 'no data' : decoding.text(it.ys[at])}`).join(', ')} ${unit}`;
    });
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [uPlot, xs, series, width, dark, unit]);
  useEffect(() => plot.current?.redraw(false), [mark]);

  return html`<figure class="line-plot"><figcaption>${caption}<span class="line-readout muted" aria-hidden="true"></span></figcaption>
    <div ref=${frame} class="line-frame" style=${{ height: `${height}px` }} role="img" aria-label=${`${typeof caption === 'string' ? caption : 'Line'}; the numbers are in the table below`}></div>
    <details class="line-table"><summary>Numbers</summary><div class="table-box" tabindex="0" role="region" aria-label="Numbers of the line">
      <table><thead><tr><th scope="col">${dimension.name}</th>${series.map((it) => html`<th key=${it.name} scope="col">${it.name}</th>`)}</tr></thead>
      <tbody>${Array.from({ length: Math.min(ROWS, xs.length) }, (_, at) => html`<tr key=${at}><th scope="row">${spelledX(xs[at])}</th>${series.map((it) => html`<td key=${it.name}>${it.ys[at] === null ? 'no data' : decoding.text(it.ys[at])}</td>`)}</tr>`)}</tbody></table></div>
      ${xs.length > ROWS && html`<p class="muted">The first ${ROWS} of ${xs.length}.</p>`}</details></figure>`;
}

/** NaN is a gap for uPlot when it is `null`. */
export function gaps(numbers) {
  return Array.from(numbers, (it) => (Number.isFinite(it) ? it : null));
}
