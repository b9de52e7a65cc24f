// Nodes that differ between two versions, as a short list.
import { Empty, Go, html } from './base.js';
import { count, counted, line } from '../text.js';

export const MARKS = { added: '+', deleted: '−', updated: '~', moved: '→', chunks: '▦' };
export const WORDS = { added: 'added', deleted: 'deleted', updated: 'document changed', moved: 'moved', chunks: 'chunks changed' };

export function changeText(it) {
  const chunks = Number(it.chunks) ? counted(it.chunks, 'chunk') : '';
  if (it.change === 'chunks') return `${chunks} changed`;
  const word = it.change === 'moved' && it.from_path ? `moved from ${line(it.from_path, 100)}` : WORDS[it.change];
  return chunks ? `${word}, ${chunks}` : word;
}

export function ChangeList({ nodes, total, to }) {
  if (!nodes.length) return html`<${Empty} title="Nothing changed">Both versions hold the same nodes and chunks.</${Empty}>`;
  return html`<ul class="changes">${nodes.map((it, at) => html`<li key=${at} class=${`change ${it.change}`}><${Go} to=${to(it)}><span class="change-mark" aria-hidden="true">${MARKS[it.change]}</span><span class="change-path">${line(it.path, 160)}</span><span class="muted">${changeText(it)}</span></${Go}></li>`)}</ul>
    ${Number(total) > nodes.length && html`<p class="muted">and ${count(Number(total) - nodes.length)} more</p>`}`;
}
