// What all parts of the page share: the template function, hooks for state and answers, messages, and small controls.
import { html } from 'htm/preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { block, line } from '../text.js';
import { forget } from '../api.js';
import { go, link, setToken, state, subscribe } from '../state.js';

export { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };

/** Returns the state of the page, and draws again when it changes. */
export function usePage() {
  const [page, set] = useState(state());
  useEffect(() => subscribe(set), []);
  return page;
}

/**
 * Returns `{ value, error, loading, again }` of what `ask(signal)` promises, asked anew when `key` changes. Until the next
 * answer is there, `value` is the previous one if `keep` is set. Without a `key`, nothing is asked.
 */
export function useAnswer(key, ask, { keep = false } = {}) {
  const [answer, set] = useState({ key: null, value: null, error: null });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!key) return undefined;
    const control = new AbortController();
    let isOver = false;
    Promise.resolve()
      .then(() => ask(control.signal))
      .then((value) => !isOver && set({ key, value, error: null }))
      .catch((error) => !isOver && error.name !== 'AbortError' && set({ key, value: null, error }));
    return () => {
      isOver = true;
      control.abort(new DOMException('no longer needed', 'AbortError'));
    };
  }, [key, tries]);
  const isCurrent = answer.key === key;
  const again = useCallback(() => {
    set({ key: null, value: null, error: null });
    setTries((it) => it + 1);
  }, []);
  return {
    value: key && (isCurrent || keep) ? answer.value : null,
    error: isCurrent ? answer.error : null,
    loading: Boolean(key) && !isCurrent,
    again,
  };
}

/** Returns the size of an element in CSS pixels. */
export function useSize(reference) {
  const [size, set] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = reference.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(([{ contentRect }]) => {
      set((old) => (old.width === contentRect.width && old.height === contentRect.height ? old : { width: contentRect.width, height: contentRect.height }));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [reference.current]);
  return size;
}

/** Returns whether colours are dark, so that drawings can follow. */
export function useDark() {
  const query = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const [system, set] = useState(query.matches);
  useEffect(() => {
    const changed = () => set(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  const { theme } = usePage();
  return theme ? theme === 'dark' : system;
}

let announceTo = null;

/** Says something to screen readers, and shows it for a moment. */
export function announce(text) {
  announceTo?.(text);
}

export function Announcer() {
  const [text, set] = useState('');
  useEffect(() => {
    announceTo = set;
    return () => (announceTo = null);
  }, []);
  useEffect(() => {
    if (!text) return undefined;
    const timer = setTimeout(() => set(''), 4000);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<div class=${text ? 'toast shown' : 'toast'} role="status" aria-live="polite">${text}</div>`;
}

/** A link to another state of the page. */
export function Go({ to, children, replace, ...rest }) {
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(to, { replace });
  };
  return html`<a href=${link(to)} onClick=${follow} ...${rest}>${children}</a>`;
}

export function Loading({ children = 'Reading…' }) {
  return html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${children}</p>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p><div>${children}</div></div>`;
}

const TITLES = {
  'not-found': 'Not there', unreachable: 'No answer', unauthorized: 'A token is needed', corrupt: 'Damaged', expired: 'Expired', 'permission-denied': 'Not granted',
};

/** An error: its kind, the message, what to do next. */
export function Problem({ error, again, children }) {
  if (error.status === 401) return html`<${TokenForm} />`;
  return html`<div class="problem" role="alert">
    <p class="problem-title">${TITLES[error.kind] ?? (error.status === 410 ? 'Expired' : 'This did not work')}</p>
    <p class="problem-text">${block(error.message, 2000)}</p>
    ${error.object && html`<p class="problem-object"><code>${line(error.object)}</code></p>`}
    ${error.hint && html`<p class="problem-hint">${block(error.hint, 1000)}</p>`}
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

function TokenForm() {
  const field = useRef();
  const give = (event) => {
    event.preventDefault();
    setToken(field.current.value.trim());
    forget();
    dispatchEvent(new Event('icefield-token'));
  };
  return html`<form class="problem" onSubmit=${give}>
    <p class="problem-title">A token is needed</p>
    <p>This server asks for a token. It is kept in the memory of this page alone, until you close or reload the page.</p>
    <label>Token <input ref=${field} type="password" autocomplete="off" required /></label>
    <button type="submit">Continue</button>
  </form>`;
}

/** A button that copies text. */
export function Copy({ text, label = 'Copy', what = '' }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await copied(text, what);
    set(true);
    setTimeout(() => set(false), 1500);
  };
  const shown = done ? 'Copied' : label;
  // The name has the text that is seen in it: speech input asks for it.
  return html`<button type="button" class="copy" onClick=${copy} aria-label=${shown === 'Copy' && what ? `Copy ${what}` : shown}>${shown}</button>`;
}

export async function copied(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard API; the selection still works.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  announce(`Copied ${what || 'the text'}`);
}

/** Tabs by links; arrow keys move between them. */
export function Tabs({ label, tabs, current, to }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(([name]) => name === current);
    const [next] = tabs[(at + step + tabs.length) % tabs.length];
    go(to(next));
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${tabs.map(([name, title]) => html`<button key=${name} type="button" role="tab" id=${`tab-${name}`} aria-selected=${name === current}
      tabindex=${name === current ? 0 : -1} onClick=${() => go(to(name))}>${title}</button>`)}
  </div>`;
}
