// The last requests to this server, as they come.
import { Empty, Loading, Problem, html, useAnswer, useEffect, useState } from './base.js';
import { ask } from '../api.js';
import { bytes, count, counted, line } from '../text.js';

const EVERY = 2000;
const SHOWN = 200;

export function RequestsView() {
  const [live, setLive] = useState(true);
  const [beat, setBeat] = useState(0);
  const found = useAnswer(`requests ${beat}`, (signal) => ask(['requests'], { limit: SHOWN }, signal), { keep: true });
  useEffect(() => {
    if (!live || found.loading || found.error) return undefined;
    const timer = setTimeout(() => document.visibilityState === 'visible' && setBeat((it) => it + 1), EVERY);
    return () => clearTimeout(timer);
  }, [live, beat, found.loading]);
  const all = found.value?.requests ?? [];
  return html`<section class="padded requests"><div class="requests-head"><h1>Requests</h1><p class="muted">The last requests to this server, newest first.</p><span class="grow"></span><label class="check"><input type="checkbox" checked=${live} onChange=${() => setLive(!live)} /> Follow</label></div>
    ${found.error && html`<${Problem} error=${found.error} again=${found.again} />`}${!found.value && !found.error && html`<${Loading} />`}
    ${found.value && !all.length && html`<${Empty} title="No requests yet">Open the pinned address in a program to see what it asks for.</${Empty}>`}
    ${all.length > 0 && html`<div class="table-box tall-box" tabindex="0" role="region" aria-label="Requests"><table class="plain wide request-table"><thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Request</th><th scope="col">Bytes</th><th scope="col">Took</th><th scope="col">Client</th></tr></thead>
      <tbody>${all.map((it) => html`<tr key=${it.seq}><td class="muted">${line(it.time, 40).slice(11, 23)}</td><td><span class=${`status s${Math.floor(it.status / 100)}`}>${it.status}</span></td><td class="request-path"><code>${line(it.method, 10)} ${line(it.path, 160)}</code></td><td>${bytes(it.bytes)}</td><td>${took(it.micros)}</td><td class="muted">${client(it.agent ?? '')}</td></tr>`)}</tbody></table></div>
      <p class="muted" aria-live="off">${counted(all.length, 'request')} shown, ${count(found.value.last)} since the start.</p>`}</section>`;
}

/** The program of a client; browsers name all others in their text, so only the one that counts is shown. */
function client(agent) {
  const browser = agent.startsWith('Mozilla/') && /(Firefox|Edg|OPR|HeadlessChrome|Chrome|Safari)\/(\d+)/.exec(agent);
  return browser ? `${browser[1]} ${browser[2]}` : line(agent, 40);
}

function took(micros) {
  const number = Number(micros);
  return number < 1000 ? `${number} µs` : number < 1_000_000 ? `${(number / 1000).toPrecision(3)} ms` : `${(number / 1_000_000).toPrecision(3)} s`;
}
