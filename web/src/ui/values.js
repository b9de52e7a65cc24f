// Arrays whose elements are not numbers, as text.
import { Empty, Loading, Problem, html, useAnswer } from './base.js';
import { read } from '../data/client.js';
import { go } from '../state.js';
import { count, line } from '../text.js';
import { cost, READ_AT_ONCE } from '../model/slice.js';

const ROWS = 100;

export function Values({ page, node, base }) {
  const { shape } = node;
  const first = Number(page.at) || 0;
  const rows = shape.length ? Math.min(ROWS, Math.max(0, shape[0] - first)) : 1;
  const columns = shape.length > 1 ? Math.min(8, shape.at(-1)) : 1;
  const selection = shape.map((_, at) => (at === 0 ? [first, first + rows] : at === shape.length - 1 ? [0, columns] : 0));
  const isSmall = cost({ shape, chunks: node.chunk_shape, type: node.data_type, x: 0, y: -1 }, [0, 1, first, first + Math.max(1, rows)]) <= READ_AT_ONCE;
  const found = useAnswer(isSmall && rows > 0 && `values ${base} ${JSON.stringify(selection)}`, (signal) => read(base, selection, signal));
  if (!isSmall) return html`<${Empty} title="Not shown">One row of chunks is larger than what the page reads at once.</${Empty}>`;
  if (rows === 0) return html`<${Empty} title="Empty">A dimension of this array has no elements.</${Empty}>`;
  if (found.error?.status) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (found.error) return html`<${Empty} title="Not shown"><p>The browser cannot decode <code>${line(node.data_type, 60)}</code>: ${line(found.error.message, 300)}</p>
    <p>The tabs Chunks, Attributes and Open in work.</p></${Empty}>`;
  if (!found.value) return html`<${Loading}>Reading the values…</${Loading}>`;
  const { data } = found.value;
  const width = shape.length > 1 ? columns : 1;
  const move = (by) => go({ at: String(Math.max(0, first + by)) }, { replace: true });
  return html`<div class="values"><div class="table-box" tabindex="0" role="region" aria-label="Values"><table><thead><tr><th scope="col">position</th>${Array.from({ length: width }, (_, at) => html`<th key=${at} scope="col">${shape.length > 1 ? at : 'value'}</th>`)}</tr></thead>
    <tbody>${Array.from({ length: rows }, (_, row) => html`<tr key=${row}><th scope="row">${first + row}</th>${Array.from({ length: width }, (__, column) => html`<td key=${column} class="words">${line(data[row * width + column], 500)}</td>`)}</tr>`)}</tbody></table></div>
    ${shape.length > 0 && shape[0] > ROWS && html`<div class="pager"><button type="button" disabled=${first === 0} onClick=${() => move(-ROWS)}>Before</button><span>${count(first)}–${count(first + rows - 1)} of ${count(shape[0])}</span>
      <button type="button" disabled=${first + ROWS >= shape[0]} onClick=${() => move(ROWS)}>After</button></div>`}</div>`;
}
