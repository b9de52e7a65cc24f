// A node as text: attributes, the document, and ways to open it elsewhere.
import { Copy, Empty, html } from './base.js';
import { block, bytes, line, linked } from '../text.js';
import { explained } from '../model/document.js';
import { snippets } from '../model/snippets.js';

const SHOWN = 400;

/** Text in which addresses are links, in full. */
export function Linked({ text }) {
  return linked(text).map((part, at) => (part.href ? html`<a key=${at} href=${part.href} rel="noopener noreferrer" target="_blank">${part.text}</a>` : part.text));
}

function spelled(value) {
  if (typeof value === 'string') return block(value, 20_000);
  if (Array.isArray(value) && value.every((it) => typeof it !== 'object')) return block(value.slice(0, 500).join(', ') + (value.length > 500 ? ' …' : ''), 20_000);
  return block(JSON.stringify(value, null, 1) ?? '', 20_000);
}

export function Attributes({ node, document }) {
  const rows = explained(document);
  if (node.document === null || node.document === undefined) {
    return html`<${Empty} title="No document">Only the nodes below imply this group; it has no document of its own.</${Empty}>`;
  }
  const cut = Number(node.document_bytes ?? 0) > node.document.length * 4 ? node.document_bytes : null;
  return html`<div class="attributes">
    ${rows.length === 0 ? html`<${Empty} title="No attributes">The document below has none that can be read.</${Empty}>` : html`<div class="table-box" tabindex="0" role="region" aria-label="Attributes"><table class="attribute-table"><caption class="offscreen">Attributes</caption>
      <thead><tr><th scope="col">Attribute</th><th scope="col">Value as stored</th><th scope="col">Decoded</th></tr></thead>
      <tbody>${rows.slice(0, SHOWN).map(({ name, value, note }, at) => html`<tr key=${at}><th scope="row"><code>${line(name, 200)}</code></th>
        <td class=${typeof value === 'string' ? 'words' : 'numbers'}><${Linked} text=${spelled(value)} /></td><td class="muted">${note ? line(note, 400) : ''}</td></tr>`)}</tbody></table></div>
      ${rows.length > SHOWN && html`<p class="muted">${rows.length - SHOWN} more are in the document below.</p>`}`}
    <details class="document" open=${rows.length === 0}><summary>The document <code>zarr.json</code>, as stored${node.document_bytes ? `, ${bytes(node.document_bytes)}` : ''}</summary>
      <${Copy} text=${node.document} label="Copy document" what="the document" />
      ${cut && html`<p class="muted">Only its beginning is shown.</p>`}
      <pre tabindex="0" role="region" aria-label="The document">${block(node.document, 200_000)}</pre></details>
  </div>`;
}

export function OpenIn({ repository, version, node, document, base }) {
  const root = new URL(`${repository.base}${version.snapshot}/`, location.origin).href;
  const all = snippets({ root, base, path: node.path, kind: node.kind, s3: repository.s3, document });
  return html`<div class="open-in"><p>All of these read snapshot <code>${version.snapshot}</code>, which never changes.
      To follow a branch, put its name in place of the id; then read all you need before the branch moves.</p>
    <div class="address"><code>${base}</code><${Copy} text=${base} what="the pinned address" /></div>
    ${all.map(({ name, code, note }) => html`<section key=${name} class="snippet"><header><h2>${name}</h2><${Copy} text=${code} what=${`the code for ${name}`} /></header>
      <pre tabindex="0" role="region" aria-label=${`Code for ${name}`}>${code}</pre>${note && html`<p class="muted">${note}</p>`}</section>`)}</div>`;
}
