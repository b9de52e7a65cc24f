// The picker of versions: branches, tags, snapshot ids, steps back, times.
import { Loading, Problem, html, useAnswer, useLayoutEffect, useMemo, useRef, useState } from './base.js';
import { VirtualList } from './virtual.js';
import { ask } from '../api.js';
import { line } from '../text.js';
import { RefIcon } from './version.js';

/** What can be typed and names a version without being a ref. */
function typed(text) {
  const trimmed = text.trim();
  if (!trimmed) return null;
  const isRevision = /^[0-9A-HJKMNP-TV-Z]{20}$/i.test(trimmed) || /[~@]/.test(trimmed) || /^(branch|tag):/.test(trimmed);
  if (!isRevision) return null;
  const isId = /^[0-9A-HJKMNP-TV-Z]{20}$/i.test(trimmed);
  return { kind: 'snapshot', ref: isId ? trimmed.toUpperCase() : trimmed, name: isId ? trimmed.toUpperCase() : trimmed, note: 'as typed' };
}

export function RefPicker({ repository, current, title, choose, close }) {
  const dialog = useRef();
  const field = useRef();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const refs = useAnswer(`refs ${repository.name}`, (signal) => ask([repository.name, 'refs'], {}, signal));

  // Before the next key, which belongs to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    field.current.focus();
    return () => before?.focus?.();
  }, []);

  const all = useMemo(() => {
    if (!refs.value) return [];
    const { branches, tags } = refs.value;
    return [
      ...branches.map((it) => ({ ...it, kind: 'branch', ref: /^-$|:|[~@]/.test(it.name) ? `branch:${it.name}` : it.name })),
      ...tags.map((it) => ({ ...it, kind: 'tag', ref: `tag:${it.name}` })),
    ];
  }, [refs.value]);
  const wanted = text.trim().toLowerCase();
  const matches = useMemo(() => {
    const found = all.filter((it) => it.name.toLowerCase().includes(wanted) || it.ref.toLowerCase().includes(wanted));
    const other = typed(text);
    return other ? [other, ...found] : found;
  }, [all, text]);

  const take = (at) => {
    const chosen = matches[at];
    if (!chosen) return;
    close();
    choose(chosen.ref);
  };
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) {
      event.preventDefault();
      setActive((it) => Math.max(0, Math.min(matches.length - 1, it + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      take(active);
    }
  };
  return html`<dialog ref=${dialog} class="picker" aria-label=${title} onClose=${close} onClick=${(event) => event.target === dialog.current && close()}>
    <div class="picker-box">
      <label class="picker-field"><span>${title}</span>
        <input ref=${field} type="text" value=${text} autocomplete="off" spellcheck="false" placeholder="branch, tag, id, main~2, main@2024-05-01"
          role="combobox" aria-expanded="true" aria-controls="refs" aria-autocomplete="list"
          aria-activedescendant=${matches.length ? `refs-${active}` : undefined}
          onInput=${(event) => {
            setText(event.currentTarget.value);
            setActive(0);
          }} onKeyDown=${keys} /></label>
      ${refs.loading && html`<${Loading}>Reading the refs…</${Loading}>`}
      ${refs.error && html`<${Problem} error=${refs.error} again=${refs.again} />`}
      ${refs.value && !matches.length && html`<p class="picker-none">No branch or tag has “${line(text, 60)}” in its name. Ids, <code>main~2</code> and <code>main@2024-05-01</code> work, too.</p>`}
      <${VirtualList} id="refs" className="picker-list" label="Versions" total=${matches.length} height=${38} tall=${38 * Math.max(1, Math.min(10, matches.length))} active=${active} setActive=${setActive} onOpen=${take}
        row=${(at) => ({
          content: html`<${RefIcon} kind=${matches[at].kind} /><span class="grow">${line(matches[at].name, 120)}</span>
            <span class="muted small">${matches[at].note ?? matches[at].kind}</span>
            <code class="small">${matches[at].snapshot ? matches[at].snapshot.slice(0, 6) : matches[at].error ? 'unreadable' : ''}</code>
            ${matches[at].ref === current && html`<span class="here">here</span>`}`,
          props: { 'aria-selected': at === active },
        })} />
      <p class="picker-keys"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> go <kbd>Esc</kbd> close</p>
    </div>
  </dialog>`;
}
