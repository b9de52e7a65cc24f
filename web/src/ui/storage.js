// What the repository stores, whether it is sound, and what this server may read outside of it.
import { Empty, Go, Loading, Problem, Tabs, html, useAnswer, useState } from './base.js';
import { ask } from '../api.js';
import { go } from '../state.js';
import { block, bytes, count, counted, firstLine, line } from '../text.js';

const TABS = [['usage', 'Usage'], ['check', 'Check'], ['grants', 'Grants']];

export function StorageView({ repository, page, version }) {
  const tab = TABS.some(([name]) => name === page.tab) ? page.tab : 'usage';
  return html`<section class="padded storage"><h1>Storage</h1><p class="muted">${line(repository.location, 300)}, spec version ${repository.spec_version}</p>
    <${Tabs} label="About the storage" tabs=${TABS} current=${tab} to=${(next) => ({ tab: next })} />
    <div class="tab-body" role="tabpanel" aria-labelledby=${`tab-${tab}`}>${tab === 'usage' ? html`<${UsagePanel} repository=${repository} page=${page} version=${version} />` : tab === 'check' ? html`<${Check} repository=${repository} page=${page} />` : html`<${Grants} repository=${repository} />`}</div></section>`;
}

const BY = [['', 'Summary'], ['array', 'By array'], ['ref', 'By ref'], ['commit', 'By commit'], ['container', 'By container']];

function UsagePanel({ repository, page, version }) {
  const by = BY.some(([name]) => name === page.by) ? page.by : '';
  return html`<div class="segments" role="radiogroup" aria-label="What is counted">${BY.map(([name, text]) => html`<label key=${name} class=${by === name ? 'segment on' : 'segment'}><input type="radio" name="du" checked=${by === name} onChange=${() => go({ by: name }, { replace: true })} />${text}</label>`)}</div>
    <${Counted} key=${by} repository=${repository} by=${by} version=${version} />`;
}

function Counted({ repository, by, version }) {
  const [asked, setAsked] = useState(false);
  const found = useAnswer((by === '' || asked) && `du ${by} ${version.snapshot}`, (signal) => ask([repository.name, 'du'], { by: by || 'summary', ref: version.snapshot }, signal));
  if (!(by === '' || asked)) return html`<p class="ask">This reads the manifests of the ${by === 'array' || by === 'commit' ? 'version' : 'repository'}. <button type="button" class="primary" onClick=${() => setAsked(true)}>Count</button></p>`;
  if (found.error) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (!found.value) return html`<${Loading}>Counting…</${Loading}>`;
  return by === '' ? html`<${Summary} facts=${found.value} />` : html`<${UsageRows} facts=${found.value} by=${by} />`;
}

function Summary({ facts }) {
  const parts = [['Chunk objects', facts.chunk_objects, 'native'], ['Manifests', facts.manifests, 'inline'], ['Snapshots', facts.snapshots, 'virtual'], ['Transaction logs', facts.transaction_logs, 'logs'], ['Garbage', facts.garbage?.total, 'missing']].filter(([, it]) => it);
  const all = parts.reduce((sum, [, it]) => sum + Number(it.bytes), 0) || 1;
  return html`<div class="usage"><p class="big"><strong>${bytes(facts.stored.bytes)}</strong> <span class="muted">in ${counted(facts.stored.count, 'object')}, ${bytes(facts.live_bytes)} of chunks in use</span></p>
    <div class="stack tall" aria-hidden="true">${parts.map(([name, it, style]) => Number(it.bytes) > 0 && html`<span key=${name} class=${`part ${style}`} style=${{ flexGrow: Number(it.bytes) / all }}></span>`)}</div>
    <table class="plain"><caption class="offscreen">Objects</caption><thead><tr><th scope="col">Objects</th><th scope="col">Number</th><th scope="col">Size</th></tr></thead>
      <tbody>${parts.map(([name, it, style]) => html`<tr key=${name}><th scope="row"><span class=${`swatch ${style}`} aria-hidden="true"></span>${name}</th><td>${count(it.count)}</td><td>${bytes(it.bytes)}</td></tr>`)}</tbody></table>
    <table class="plain"><caption class="offscreen">Chunks</caption><thead><tr><th scope="col">Chunks</th><th scope="col">Number</th><th scope="col">Size</th></tr></thead>
      <tbody>${[['native, in the repository', facts.native], ['inline, in manifests', facts.inline], ['virtual, in other files', facts.virtual]].map(([name, it]) => html`<tr key=${name}><th scope="row">${name}</th><td>${count(it.count)}</td><td>${bytes(it.bytes)}</td></tr>`)}</tbody></table>
    ${Number(facts.missing_chunks) > 0 && html`<p class="problem" role="alert">${counted(facts.missing_chunks, 'chunk object')} that something refers to ${Number(facts.missing_chunks) === 1 ? 'is' : 'are'} not there. The check says which.</p>`}</div>`;
}

function UsageRows({ facts, by }) {
  const rows = facts.rows.slice(0, 500);
  if (!rows.length) return html`<${Empty} title="Nothing to count">${by === 'container' ? 'The repository has no virtual chunks.' : 'There is none.'}</${Empty}>`;
  const most = Math.max(...rows.map((it) => Number(it.objects.bytes) + Number(it.virtual.bytes)), 1);
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Usage"><table class="plain wide"><thead><tr><th scope="col">${{ array: 'Array', ref: 'Ref', commit: 'Commit', container: 'Container' }[by]}</th><th scope="col">Stored</th><th scope="col">Objects</th>${by !== 'commit' && by !== 'container' && html`<th scope="col">Unique</th>`}<th scope="col">Native</th><th scope="col">Inline</th><th scope="col">Virtual</th></tr></thead>
    <tbody>${rows.map((it, at) => html`<tr key=${at}><th scope="row">${by === 'array' ? html`<${Go} to=${{ view: 'data', path: it.name, tab: 'chunks' }}>${line(it.name, 120)}</${Go}>` : by === 'commit' ? html`<${Go} to=${{ view: 'history', commit: it.snapshot_id ?? it.name }}><code>${(it.snapshot_id ?? it.name).slice(0, 8)}</code> ${firstLine(it.message, 80)}</${Go}>` : line(it.name, 160) || 'in no container'}</th>
      <td><span class="bar" aria-hidden="true"><span style=${{ width: `${(100 * (Number(it.objects.bytes) + Number(it.virtual.bytes))) / most}%` }}></span></span>${bytes(it.objects.bytes)}</td><td>${count(it.objects.count)}</td>${by !== 'commit' && by !== 'container' && html`<td>${it.unique ? bytes(it.unique.bytes) : ''}</td>`}<td>${count(it.native.count)}</td><td>${count(it.inline.count)}</td><td>${count(it.virtual.count)}${Number(it.virtual.count) ? html` <span class="muted">${bytes(it.virtual.bytes)}</span>` : ''}</td></tr>`)}</tbody></table></div>
    ${(facts.truncated || facts.rows.length > rows.length) && html`<p class="muted">The first ${count(rows.length)} rows. <code>icefield du --by ${by}</code> prints all.</p>`}`;
}

function Check({ repository, page }) {
  const [run, setRun] = useState(page.run === 'check' ? 1 : 0);
  const found = useAnswer(run > 0 && `fsck ${repository.name} ${run}`, (signal) => ask([repository.name, 'fsck'], {}, signal));
  if (!run) return html`<p class="ask">A check reads the refs, snapshots, manifests and logs of the repository, and looks whether the chunk objects are there. It changes nothing. <button type="button" class="primary" onClick=${() => setRun(1)}>Check now</button></p>`;
  if (found.error) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (!found.value) return html`<${Loading}>Checking…</${Loading}>`;
  const { sound, findings = [], damage = 0 } = found.value;
  return html`<div class="check-report"><p class=${sound ? 'verdict sound' : 'verdict unsound'} role="status"><strong>${sound ? 'Sound' : counted(damage, 'damaged thing')}</strong> <span>${sound ? 'Everything that refs reach can be read.' : 'Something that refs reach is gone or cannot be read.'}</span></p>
    ${findings.length > 0 && html`<ul class="findings">${findings.slice(0, 200).map((it, at) => html`<li key=${at} class=${`finding ${it.severity}`}><span class="severity">${line(it.severity, 20)}</span><div><p><strong>${line(it.rule, 400)}</strong></p><p><code>${line(it.key, 200)}</code>${it.path ? html` for <${Go} to=${{ view: 'data', path: it.path, tab: 'chunks' }}>${line(it.path, 120)}</${Go}>` : ''}</p>
      ${it.refs?.length > 0 && html`<p class="muted">in ${line(it.refs.slice(0, 8).join(', '), 300)}</p>`}${it.advice && html`<p>${block(it.advice, 500)}</p>`}</div></li>`)}</ul>`}
    ${findings.length > 200 && html`<p class="muted">The first 200 of ${count(findings.length)}. <code>icefield fsck</code> prints all.</p>`}
    <button type="button" onClick=${() => setRun(run + 1)}>Check again</button></div>`;
}

function Grants({ repository }) {
  const found = useAnswer(`grants ${repository.name}`, (signal) => ask([repository.name, 'grants'], {}, signal));
  if (found.error) return html`<${Problem} error=${found.error} again=${found.again} />`;
  if (!found.value) return html`<${Loading} />`;
  const { containers } = found.value;
  if (!containers.length) return html`<${Empty} title="No containers">This repository refers to no files outside of it, so it needs no grants.</${Empty}>`;
  return html`<table class="plain wide"><caption class="offscreen">Containers of virtual chunks</caption><thead><tr><th scope="col">Prefix</th><th scope="col">Name</th><th scope="col">This server</th></tr></thead>
    <tbody>${containers.map((it, at) => html`<tr key=${at}><th scope="row"><code>${line(it.prefix, 300)}</code></th><td>${line(it.name ?? '', 80)}</td><td>${it.granted ? html`<span class="granted">may read it</span>` : html`<span class="not-granted">must not read it</span>${it.hint && html` <span class="muted">start it with <code>${line(it.hint, 300)}</code></span>`}`}</td></tr>`)}</tbody></table>`;
}
