// The frame of the page: repository, version, views, and the keys that work everywhere.
import { Announcer, Empty, Go, Loading, Problem, announce, copied, html, useAnswer, useEffect, useMemo, usePage, useState } from './base.js';
import { ask, dataAddress } from '../api.js';
import { go } from '../state.js';
import { ago, firstLine, line } from '../text.js';
import { RefPicker } from './refs.js';
import { DataView } from './data.js';
import { HistoryView } from './history.js';
import { CompareView } from './compare.js';
import { StorageView } from './storage.js';
import { RequestsView } from './requests.js';
import { Help, keysAreOn } from './help.js';
import { RefIcon, isId, resolve } from './version.js';

const VIEWS = [['data', 'Data'], ['history', 'History'], ['compare', 'Compare'], ['storage', 'Storage'], ['requests', 'Requests']];
export function App() {
  const page = usePage();
  const [opened, setOpened] = useState(null);
  const [attempt, setAttempt] = useState(0);
  const server = useAnswer(`server ${attempt}`, (signal) => ask([], {}, signal), { keep: true });
  const repositories = server.value?.repositories ?? [];
  const repository = repositories.find((it) => it.name === page.repo) ?? (page.repo ? null : repositories.length === 1 ? repositories[0] : null);
  const ref = page.ref || repository?.default || 'main';
  const found = useAnswer(repository && `${repository.name} ${ref} ${attempt}`, (signal) => resolve(repository.name, ref, signal), { keep: true });
  const version = found.value && found.value.ref === ref ? found.value : found.loading ? found.value : null;

  useEffect(() => {
    const retry = () => setAttempt((it) => it + 1);
    addEventListener('icefield-token', retry);
    return () => removeEventListener('icefield-token', retry);
  }, []);
  useEffect(() => {
    if (page.theme) document.documentElement.dataset.theme = page.theme;
    else delete document.documentElement.dataset.theme;
  }, [page.theme]);
  useEffect(() => {
    const at = page.view === 'data' ? page.path || '/' : VIEWS.find(([name]) => name === page.view)?.[1];
    document.title = [at, repository && `${repository.name}@${ref}`, 'icefield'].filter(Boolean).map((it) => line(it, 80)).join(' · ');
  }, [page.view, page.path, repository, ref]);
  useKeys({ page, repository, version, setOpened });
  const moved = useMoved(repository, ref, version);

  const close = () => setOpened(null);
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById('main')?.focus();
    }}>Skip to the content</a>
    <header class="top">
      <${Go} to=${{ view: 'data', path: '' }} class="brand" aria-label="icefield: overview"><${Mark} /><span>icefield</span></${Go}>
      ${repositories.length > 1 && html`<label class="repo-choice"><span class="offscreen">Repository</span>
        <select value=${repository?.name ?? ''} onChange=${(event) => go({ repo: event.currentTarget.value })}>
          ${!repository && html`<option value="">Choose a repository</option>`}
          ${repositories.map(({ name }) => html`<option key=${name} value=${name}>${line(name, 60)}</option>`)}
        </select></label>`}
      ${repositories.length === 1 && html`<span class="repo-name" title=${line(repository?.location)}>${line(repository?.name, 40)}</span>`}
      ${repository && html`<button type="button" class="ref-button" aria-haspopup="dialog" aria-keyshortcuts="/" onClick=${() => setOpened('refs')}>
        <${RefIcon} kind=${isId(ref) ? 'snapshot' : version?.kind} /><span class="ref-name">${line(ref, 40)}</span>
        ${version && !isId(ref) && html`<span class="ref-id">${version.snapshot.slice(0, 6)}</span>`}<kbd>/</kbd></button>
        ${version && html`<${Pin} page=${page} isPinned=${isId(ref)} version=${version} />`}`}
      <nav class="views" aria-label="Views">
        ${VIEWS.map(([name, title]) => html`<${Go} key=${name} to=${{ view: name }} aria-current=${page.view === name ? 'page' : undefined}>${title}</${Go}>`)}
      </nav>
      <button type="button" class="quiet" aria-label="Colours: light, dark, or those of the system" onClick=${() => nextTheme(page)}><${ThemeIcon} theme=${page.theme} /></button>
      <button type="button" class="quiet" aria-label="Keys and help" aria-keyshortcuts="?" onClick=${() => setOpened('help')}>?</button>
    </header>
    ${version && page.view !== 'history' && page.view !== 'requests' && html`<section class="version-line" aria-label="Version">
      <span>${firstLine(version.message, 140) || 'No message'}</span><span class="muted">${ago(version.written_at)}</span>
      ${moved && html`<button type="button" class="moved" onClick=${() => setAttempt((it) => it + 1)}>${line(ref, 40)} has moved: show its newest snapshot</button>`}</section>`}
    <main id="main" tabindex="-1">
      <${Content} page=${page} server=${server} repository=${repository} version=${version} found=${found} shownRef=${ref} openRefs=${() => setOpened('refs')} />
    </main>
    ${opened === 'refs' && repository && html`<${RefPicker} repository=${repository} current=${ref} title="Go to a version" close=${close} choose=${(next) => go({ ref: next })} />`}
    ${opened === 'help' && html`<${Help} close=${close} />`}
    <${Announcer} />`;
}

function Content({ page, server, repository, version, found, shownRef, openRefs }) {
  if (server.error) return html`<h1 class="offscreen">icefield</h1><${Problem} error=${server.error} again=${server.again} />`;
  if (!server.value) return html`<${Loading}>Opening…</${Loading}>`;
  if (page.view === 'requests') return html`<${RequestsView} />`;
  if (!repository) {
    if (page.repo) return html`<${Empty} title="No such repository"><p>This server offers no repository called <code>${line(page.repo, 80)}</code>.</p>
      <${RepositoryList} all=${server.value.repositories} /></${Empty}>`;
    if (!server.value.repositories.length) return html`<${Empty} title="No repositories">Start the server with a location: <code>icefield serve LOCATION</code></${Empty}>`;
    return html`<section class="padded"><h1>Repositories</h1><${RepositoryList} all=${server.value.repositories} /></section>`;
  }
  if (page.view === 'history') return html`<${HistoryView} key=${repository.name} repository=${repository} page=${page} />`;
  if (found.error) return html`<h1 class="offscreen">Version not found</h1><${Problem} error=${found.error} again=${found.again}><p>The version asked for is <code>${line(shownRef, 80)}</code>.${' '}
    <button type="button" onClick=${openRefs}>Choose another version</button></p></${Problem}>`;
  if (!version) return html`<${Loading}>Finding the version…</${Loading}>`;
  if (page.view === 'compare') return html`<${CompareView} repository=${repository} page=${page} version=${version} />`;
  if (page.view === 'storage') return html`<${StorageView} repository=${repository} page=${page} version=${version} />`;
  return html`<${DataView} repository=${repository} page=${page} version=${version} />`;
}

function RepositoryList({ all }) {
  return html`<ul class="repositories">${all.map((it) => html`<li key=${it.name}><${Go} to=${{ repo: it.name }}><strong>${line(it.name, 80)}</strong>
    <span class="muted">${line(it.location, 160)}</span></${Go}></li>`)}</ul>`;
}

function Pin({ page, isPinned, version }) {
  if (isPinned) return html`<span class="pinned" title="This address names one snapshot and always shows the same data"><${PinIcon} /> pinned</span>`;
  return html`<button type="button" class="quiet pin" aria-keyshortcuts="p" title="Put the snapshot into the address, so that it shows the same data for ever"
    onClick=${() => pin(version)}><${PinIcon} /> Pin</button>`;
}

function pin(version) {
  go({ ref: version.snapshot });
  announce(`Pinned to snapshot ${version.snapshot}`);
}

function nextTheme(page) {
  const next = { '': 'light', light: 'dark', dark: '' }[page.theme];
  go({ theme: next }, { replace: true });
  announce(next ? `Colours: ${next}` : 'Colours of the system');
}

const LOOK_AGAIN = 30_000;

/** Returns whether a branch has left the snapshot that is shown. All that is shown stays of one snapshot until it is asked for anew. */
function useMoved(repository, ref, version) {
  const [tip, setTip] = useState(null);
  useEffect(() => {
    setTip(null);
    if (!repository || !version || isId(ref)) return undefined;
    const look = () => {
      if (document.visibilityState !== 'visible') return;
      ask([repository.name, 'resolve', ref]).then((found) => setTip(found.snapshot), () => {});
    };
    const timer = setInterval(look, LOOK_AGAIN);
    addEventListener('focus', look);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', look);
    };
  }, [repository?.name, ref, version?.snapshot]);
  return Boolean(tip && version && tip !== version.snapshot);
}

/** Single keys, where no text is being typed. They can be switched off in the help. */
function useKeys({ page, repository, version, setOpened }) {
  const latest = useMemo(() => ({ current: null }), []);
  latest.current = { page, repository, version };
  useEffect(() => {
    const pressed = (event) => {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || !keysAreOn()) return;
      const target = event.target;
      if (target.closest('dialog') || /^(input|textarea|select)$/i.test(target.tagName) && target.type !== 'range') return;
      const now = latest.current;
      const views = Object.fromEntries(VIEWS.map(([name], at) => [String(at + 1), () => go({ view: name })]));
      const actions = {
        ...views,
        '/': () => now.repository && setOpened('refs'),
        '?': () => setOpened('help'),
        p: () => now.version && !isId(now.page.ref) && pin(now.version),
        t: () => nextTheme(now.page),
        f: () => document.getElementById('filter')?.focus(),
        c: () => now.version && copied(dataAddress(now.repository, now.version.snapshot, now.page.path), 'the pinned address of the data'),
      };
      if (!Object.hasOwn(actions, event.key)) return;
      event.preventDefault();
      actions[event.key]();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}

function Mark() {
  return html`<svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true"><rect width="32" height="32" rx="8" class="mark-back" /><path d="M4 22 12 9l5 7 3-4 8 10z" class="mark-ice" /><path d="M5 25.5h22" class="mark-line" /></svg>`;
}

function PinIcon() {
  return html`<svg viewBox="0 0 16 16" width="14" height="14" class="icon" aria-hidden="true"><path d="M5.5 2h5l-.8 4.5 2.3 2.3H4l2.3-2.3zM8 8.8V14" /></svg>`;
}

function ThemeIcon({ theme }) {
  return html`<svg viewBox="0 0 16 16" width="16" height="16" class="icon" aria-hidden="true"><circle cx="8" cy="8" r="5.5" />
    ${theme !== 'light' && html`<path d="M8 2.5a5.5 5.5 0 0 1 0 11z" class=${theme === 'dark' ? 'full' : 'half'} />`}</svg>`;
}
