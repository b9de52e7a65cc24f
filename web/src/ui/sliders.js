// A slider for each dimension that the plot does not span, with its coordinate as text.
import { html, useEffect, useRef, useState } from './base.js';
import { count, line } from '../text.js';

/** The least time between two steps of a playing slider. */
const STEP = 160;

function spelled(dimension, at) {
  if (!dimension.coordinates) return String(at);
  const text = dimension.decoding.text(dimension.coordinates[at]);
  return dimension.decoding.time || !dimension.decoding.units ? text : `${text} ${dimension.decoding.units}`;
}

export function Sliders({ node, plan, dims, busy, change }) {
  const shown = node.shape.map((_, at) => at).filter((at) => at !== plan.x && at !== plan.y);
  // Times first: they are what most people move.
  shown.sort((a, b) => Number(dims[b].role === 'time') - Number(dims[a].role === 'time'));
  const [playing, setPlaying] = useState(-1);
  const latest = useRef();
  const set = (dimension, position) => {
    const next = [...latest.current.plan.positions];
    next[dimension] = position;
    change(next.map((it, at) => (at === latest.current.plan.x || at === latest.current.plan.y ? '' : it)).join(','));
  };
  latest.current = { plan, set };
  const step = (dimension, by, turn = false) => {
    const length = node.shape[dimension];
    const next = latest.current.plan.positions[dimension] + by;
    if (turn) latest.current.set(dimension, (next + length) % length);
    else if (next >= 0 && next < length) latest.current.set(dimension, next);
  };

  useEffect(() => {
    if (playing < 0 || busy) return undefined;
    const timer = setTimeout(() => step(playing, 1, true), STEP);
    return () => clearTimeout(timer);
  }, [playing, busy, plan]);
  useEffect(() => {
    const first = shown.find((at) => node.shape[at] > 1);
    const pressed = (event) => {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || first === undefined) return;
      if (event.target.closest('dialog') || /^(input|textarea|select|button|a|summary)$/i.test(event.target.tagName) && event.target.type !== 'range') return;
      const by = { '[': -1, ']': 1 }[event.key];
      if (by) step(first, by);
      else if (event.key === ' ' && event.target.tagName !== 'INPUT' && !event.target.closest('[role=tree],[role=listbox]')) setPlaying((it) => (it < 0 ? first : -1));
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [shown.join(), node]);

  if (!shown.length) return null;
  return html`<div class="sliders">${shown.map((at) => {
    const [dimension, length, position] = [dims[at], node.shape[at], plan.positions[at]];
    const name = line(dimension.name, 60);
    const text = spelled(dimension, position);
    if (length === 1) return html`<p key=${at} class="fixed"><span class="slider-name">${name}</span><span class="slider-value">${text}</span></p>`;
    return html`<div key=${at} class="slider">
      <label class="slider-name" for=${`slider-${at}`}>${name}</label>
      <span class="tape"><button type="button" aria-label=${`${name}: one back`} disabled=${position === 0} onClick=${() => step(at, -1)}>‹</button>
        <button type="button" aria-label=${playing === at ? `${name}: stop` : `${name}: play`} aria-pressed=${playing === at} onClick=${() => setPlaying(playing === at ? -1 : at)}>${playing === at ? '❚❚' : '▶'}</button>
        <button type="button" aria-label=${`${name}: one on`} disabled=${position === length - 1} onClick=${() => step(at, 1)}>›</button></span>
      <input type="range" id=${`slider-${at}`} min="0" max=${length - 1} step="1" value=${position} aria-valuetext=${`${text}, ${position + 1} of ${length}`} onInput=${(event) => set(at, Number(event.currentTarget.value))} />
      <output class="slider-value" for=${`slider-${at}`}>${text}<span class="muted"> ${count(position + 1)}/${count(length)}</span></output></div>`;
  })}</div>`;
}
