// The view of data: the tree beside what is open.
import { Copy, Empty, Go, Loading, Problem, Tabs, html, useAnswer, useMemo } from './base.js';
import { Tree, storedBytes } from './tree.js';
import { Attributes, OpenIn } from './node.js';
import { Plot } from './plot.js';
import { ChunkMap } from './chunks.js';
import { Thumbnail, isAffordable } from './thumbnail.js';
import { askOnce, dataAddress } from '../api.js';
import { bytes, count, counted, line, shape } from '../text.js';
import { parsed } from '../model/document.js';
import { isNumeric } from '../model/slice.js';

export function DataView({ repository, page, version }) {
  return html`<div class="split">
    <${Tree} repository=${repository} snapshot=${version.snapshot} page=${page} />
    <${NodeView} repository=${repository} page=${page} version=${version} />
  </div>`;
}

function NodeView({ repository, page, version }) {
  const path = page.path || '/';
  const { snapshot } = version;
  const found = useAnswer(`${repository.name} ${snapshot} ${path}`, () => askOnce([repository.name, 'node', snapshot], { path }), { keep: true });
  if (found.error?.status === 404) {
    return html`<section class="content" aria-label="Not found"><h1 class="offscreen">${line(path)}</h1><${Empty} title="Not in this version">
      <p><code>${line(path)}</code> is not in snapshot <code>${snapshot}</code>.</p>
      <p><${Go} to=${{ path: '' }}>Look at what is here</${Go}>, or choose another version with <kbd>/</kbd>.</p></${Empty}></section>`;
  }
  if (found.error) return html`<section class="content" aria-label="Failure"><h1 class="offscreen">${line(path)}</h1><${Problem} error=${found.error} again=${found.again} /></section>`;
  const node = found.value;
  if (!node) return html`<section class="content"><${Loading} /></section>`;
  const props = { repository, page, version, node, base: dataAddress(repository, node.snapshot ?? snapshot, node.path) };
  return html`<section class="content" aria-label=${line(node.path)}>
    ${node.kind === 'array' ? html`<${ArrayView} ...${props} />` : html`<${GroupView} ...${props} />`}
  </section>`;
}

function Crumbs({ path }) {
  const names = path.split('/').filter(Boolean);
  return html`<nav class="crumbs" aria-label="Path"><${Go} to=${{ path: '' }}>/</${Go}>
    ${names.slice(0, -1).map((name, at) => html`<${Go} key=${at} to=${{ path: `/${names.slice(0, at + 1).join('/')}` }}>${line(name, 60)}</${Go}><span aria-hidden="true">/</span>`)}</nav>`;
}

function ArrayView({ repository, page, version, node, base }) {
  const document = useMemo(() => parsed(node.document), [node]);
  const tabs = [['plot', 'Plot'], ['chunks', 'Chunks'], ['attributes', 'Attributes'], ['open', 'Open in']];
  const tab = tabs.some(([name]) => name === page.tab) ? page.tab : 'plot';
  const props = { repository, page, version, node, document, base };
  const { attributes = {} } = document;
  const name = node.path.slice(node.path.lastIndexOf('/') + 1);
  const title = typeof attributes.long_name === 'string' ? attributes.long_name : typeof attributes.standard_name === 'string' ? attributes.standard_name.replaceAll('_', ' ') : '';
  return html`
    <header class="node-head">
      <${Crumbs} path=${node.path} />
      <div class="node-title"><h1>${line(title || name || repository.name, 120)}</h1>${title && html`<code>${line(name, 80)}</code>`}
        ${typeof attributes.units === 'string' && html`<span class="unit">${line(attributes.units, 60)}</span>`}</div>
      <${Facts} repository=${repository} version=${version} node=${node} />
      <${Tabs} label="Ways to look at the array" tabs=${tabs} current=${tab} to=${(next) => ({ tab: next })} />
    </header>
    <div class="tab-body" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
      ${node.error ? html`<${Problem} error=${{ kind: 'corrupt', message: node.error }} />`
        : tab === 'plot' ? html`<${Plot} key=${node.path} ...${props} />`
        : tab === 'chunks' ? html`<${ChunkMap} key=${node.path} ...${props} />`
        : tab === 'attributes' ? html`<${Attributes} ...${props} />` : html`<${OpenIn} ...${props} />`}
    </div>`;
}

function Facts({ repository, version, node }) {
  const sizes = useAnswer(`size ${version.snapshot} ${node.path}`, () => askOnce([repository.name, 'sizes', version.snapshot], { path: [node.path] }));
  const size = sizes.value?.sizes?.[0];
  const names = node.dimension_names ?? [];
  const stored = size && ['native', 'inline', 'virtual'].reduce((sum, kind) => sum + Number(size[kind].count), 0);
  return html`<ul class="facts" aria-label="Facts">
    <li><span class="dims">${node.shape.length ? node.shape.map((length, at) => html`<span key=${at}>${names[at] ? html`<em>${line(names[at], 40)}</em> ` : ''}${count(length)}</span>`) : 'scalar'}</span></li>
    <li><code>${line(node.data_type, 60)}</code></li>
    <li>chunks ${shape(node.chunk_shape)}${node.shard ? ` in shards, inner ${shape(node.shard)}` : ''}</li>
    <li>${(node.codecs ?? []).map((it) => line(it, 30)).join(' → ')}</li>
    ${size && !size.error && html`<li>${bytes(storedBytes(size))} in ${counted(stored, 'chunk')}${Number(size.missing) ? `, ${count(size.missing)} not written` : ''}</li>`}
  </ul>`;
}

/** Cards that have a picture. */
const PICTURES = 6;

function GroupView({ repository, page, version, node, base }) {
  const document = useMemo(() => parsed(node.document ?? '{}'), [node]);
  const under = useAnswer(`under ${version.snapshot} ${node.path}`, () => askOnce([repository.name, 'tree', version.snapshot], { offset: 0, limit: 200 }), { keep: true });
  const prefix = node.path === '/' ? '/' : `${node.path}/`;
  const inside = (under.value?.nodes ?? []).filter((it) => it.kind === 'array' && it.path.startsWith(prefix) && !it.error);
  const isCoordinate = (it) => it.shape.length <= 1 || /^degrees?_/.test(it.units ?? '');
  const rank = (it) => (isCoordinate(it) ? 0 : it.shape.filter((length) => length > 1).length);
  const fields = [...inside].sort((a, b) => rank(b) - rank(a)).slice(0, 24);
  const pictured = new Set(fields.filter((it) => !isCoordinate(it) && isNumeric(it.data_type) && isAffordable(it)).slice(0, PICTURES));
  const { attributes = {} } = document;
  const title = typeof attributes.title === 'string' && attributes.title ? attributes.title : node.path === '/' ? repository.name : node.path.slice(node.path.lastIndexOf('/') + 1);
  const tabs = [['plot', 'Overview'], ['attributes', 'Attributes'], ['open', 'Open in']];
  const tab = tabs.some(([name]) => name === page.tab) ? page.tab : 'plot';
  return html`
    <header class="node-head"><${Crumbs} path=${node.path} />
      <div class="node-title"><h1>${line(title, 160)}</h1></div>
      ${typeof attributes.summary === 'string' && html`<p class="summary">${line(attributes.summary, 500)}</p>`}
      <${Tabs} label="Ways to look at the group" tabs=${tabs} current=${tab} to=${(next) => ({ tab: next })} /></header>
    <div class="tab-body" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
    ${tab === 'attributes' ? html`<${Attributes} node=${node} document=${document} />` : tab === 'open' ? html`<${OpenIn} repository=${repository} version=${version} node=${node} document=${document} base=${base} />`
      : html`
      ${fields.length > 0 && html`<ul class="cards">${fields.map((it) => html`<li key=${it.path}><${Go} to=${{ path: it.path, tab: 'plot' }} class=${isCoordinate(it) ? 'card small-card' : 'card'}>
          ${pictured.has(it) && html`<${Thumbnail} repository=${repository} snapshot=${under.value.snapshot} path=${it.path} />`}
          <span class="card-title">${line(it.title || it.path.slice(prefix.length), 80)}</span>
          <span class="card-path"><code>${line(it.path.slice(prefix.length), 80)}</code>${it.units ? html` <span class="muted">${line(it.units, 40)}</span>` : ''}</span>
          <span class="card-facts">${it.shape.length ? it.shape.map((length, at) => `${line(it.dimension_names?.[at] ?? '', 24)} ${count(length)}`.trim()).join(' × ') : 'scalar'} · ${line(it.data_type, 24)}</span>
          ${isNumeric(it.data_type) && it.shape.length > 1 && html`<span class="card-go">Plot →</span>`}
        </${Go}></li>`)}</ul>`}
      ${under.value && !inside.length && html`<${Empty} title="No arrays here">${under.value.total > 200 ? 'Choose one in the tree.' : 'This group has no arrays below it in this version.'}</${Empty}>`}
      <section class="pinned-box"><h2>Read this version from anywhere</h2><p class="muted">The address names one snapshot and always gives the same bytes.</p>
        <div class="address"><code>${base}</code><${Copy} text=${base} what="the pinned address" /></div></section>`}
    </div>`;
}

