// The history as a graph of all refs, page by page, with long runs folded.
import { Copy, Empty, Go, Loading, Problem, html, useAnswer, useCallback, useEffect, useMemo, useRef, useState } from './base.js';
import { VirtualList } from './virtual.js';
import { ask, askOnce } from '../api.js';
import { go } from '../state.js';
import { ago, block, counted, firstLine, line, time } from '../text.js';
import { Lanes, folded } from '../model/lanes.js';
import { ChangeList } from './changes.js';

const PAGE = 100;
const ROW = 44;
const LANE = 16;
/** Lanes drawn; those beyond share the last place. */
const WIDEST = 14;
/** Pages that load without being asked for, so that a folded list is not empty. */
const AT_ONCE = 2;

/** Loads the history page by page. */
function useHistory(repository, q) {
  const [loaded, setLoaded] = useState({ commits: [], next: undefined, error: null, busy: false, scanned: 0 });
  const run = useRef(0);
  const load = useCallback(async (from, mine) => {
    setLoaded((it) => ({ ...it, busy: true, error: null }));
    try {
      const answer = await ask([repository.name, 'history'], { limit: PAGE, cursor: from.next ?? undefined, q });
      if (run.current !== mine) return;
      const known = new Set(from.commits.map((it) => it.id));
      setLoaded({ commits: [...from.commits, ...answer.snapshots.filter((it) => !known.has(it.id))], next: answer.next, error: null, busy: false, scanned: from.scanned + Number(answer.scanned ?? 0) });
    } catch (error) {
      if (run.current === mine) setLoaded((it) => ({ ...it, error, busy: false }));
    }
  }, [repository.name, q]);
  useEffect(() => {
    run.current += 1;
    const none = { commits: [], next: undefined, error: null, busy: true, scanned: 0 };
    setLoaded(none);
    load(none, run.current);
    return () => {
      run.current += 1;
    };
  }, [load]);
  return { ...loaded, more: () => !loaded.busy && loaded.next && load(loaded, run.current) };
}

export function HistoryView({ repository, page }) {
  const [q, setQ] = useState('');
  const [typed, setTyped] = useState('');
  const [open, setOpen] = useState(() => new Set());
  const [active, setActive] = useState(0);
  const timer = useRef();
  const history = useHistory(repository, q);
  const rows = useMemo(() => {
    const lanes = new Lanes();
    // Matches of a search are no connected graph.
    const all = history.commits.map((commit) => ({ commit, lines: q ? { lane: 0, above: [], below: [], width: 1 } : lanes.row(commit) }));
    return q ? all : folded(all, open);
  }, [history.commits, open, q]);
  const total = rows.length + (history.next ? 1 : 0);
  const width = Math.min(WIDEST, rows.reduce((most, it) => Math.max(most, it.lines.width), 1)) * LANE + 8;
  const automatic = useRef(0);
  useEffect(() => {
    automatic.current = 0;
  }, [q]);

  const openRow = (at) => {
    const row = rows[at];
    if (!row) return history.more();
    if (row.run) return setOpen(new Set([...open, row.first]));
    return go({ commit: row.commit.id }, { replace: true });
  };
  const keys = (event, at) => {
    const commit = rows[at]?.commit;
    if (!commit) return false;
    if (event.key === 'o') go({ view: 'data', ref: commit.id });
    else if (event.key === 'd' && commit.parent) go({ view: 'compare', from: commit.parent, to: commit.id, node: '' });
    else return false;
    return true;
  };
  const search = (event) => {
    const text = event.currentTarget.value;
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setQ(text.trim());
      setActive(0);
    }, 250);
  };
  const row = (at) => {
    const it = rows[at];
    if (!it) return { content: html`<span class="more">${history.busy ? 'Reading…' : q ? `${counted(history.scanned, 'commit')} searched; search further back` : `Show ${PAGE} more`}</span>`, props: { class: 'more-row', 'aria-selected': at === active } };
    if (it.run) return { content: html`<${Graph} lines=${it.lines} width=${width} isRun=${true} /><span class="run">${counted(it.run.length, 'commit')} <span class="muted">from ${time(it.run.at(-1).commit.written_at)} to ${time(it.run[0].commit.written_at)}</span></span>`, props: { class: 'run-row', 'aria-selected': at === active } };
    const { commit } = it;
    return {
      props: { class: commit.id === page.commit ? 'commit chosen' : 'commit', 'aria-selected': at === active },
      content: html`<${Graph} lines=${it.lines} width=${width} isTip=${commit.refs.length > 0} />
        <span class="commit-main"><span class="commit-message">${firstLine(commit.message, 160) || html`<em>No message</em>`}</span>
          ${commit.refs.slice(0, 4).map((ref) => html`<span key=${ref} class=${ref.startsWith('tag:') ? 'badge tag' : 'badge branch'}>${line(ref.replace(/^tag:/, ''), 32)}</span>`)}${commit.refs.length > 4 && html`<span class="badge">+${commit.refs.length - 4}</span>`}</span>
        <span class="commit-author muted">${line(author(commit), 40)}</span><span class="commit-time muted" title=${commit.written_at}>${time(commit.written_at)}</span><code class="commit-id">${commit.id.slice(0, 8)}</code>`,
    };
  };
  const chosen = history.commits.find((it) => it.id === page.commit);
  return html`<div class=${page.commit ? 'history with-detail' : 'history'}>
    <section class="history-list" aria-label="History"><div class="filter"><label class="offscreen" for="filter">Search in messages</label>
      <input id="filter" type="search" value=${typed} placeholder="Search in messages, or for an id…" onInput=${search} autocomplete="off" spellcheck="false"
        onKeyDown=${(event) => event.key === 'ArrowDown' && (event.preventDefault(), document.getElementById('history').focus())} />
      <p class="tree-count" role="status">${history.commits.length ? `${counted(history.commits.length, 'commit')}${history.next ? ' so far' : ''}` : ' '}</p></div>
      ${history.error && html`<${Problem} error=${history.error} again=${history.more} />`}
      ${!history.commits.length && history.busy && html`<${Loading}>Reading the history…</${Loading}>`}
      ${!history.commits.length && !history.busy && !history.error && !history.next && html`<${Empty} title=${q ? 'No match' : 'No commits'}>${q ? `No message has “${line(q, 60)}”.` : 'This repository has no history.'}</${Empty}>`}
      <${VirtualList} id="history" className="history-rows" label="Commits, newest first" total=${total} height=${ROW} row=${row} active=${Math.min(active, total - 1)} setActive=${setActive} onOpen=${openRow} onKey=${keys}
        onEnd=${() => {
          const isScrolled = document.getElementById('history')?.scrollTop > 0;
          if (!history.next || history.busy) return;
          if (!isScrolled && automatic.current >= AT_ONCE) return;
          automatic.current += 1;
          history.more();
        }} /></section>
    ${page.commit && html`<${Commit} key=${page.commit} repository=${repository} id=${page.commit} known=${chosen} />`}
  </div>`;
}

function author({ metadata = {} }) {
  const found = metadata.author ?? metadata.user ?? metadata.author_name ?? metadata.committer ?? '';
  return typeof found === 'string' ? found : '';
}

function Graph({ lines, width, isTip, isRun }) {
  const x = (lane) => Math.min(lane, WIDEST - 1) * LANE + LANE / 2 + 4;
  const curve = (x1, y1, x2, y2) => (x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`);
  const middle = ROW / 2;
  return html`<svg class="graph" width=${width} height=${ROW} viewBox=${`0 0 ${width} ${ROW}`} aria-hidden="true">
    ${lines.above.map(([from, to], at) => html`<path key=${`a${at}`} class=${`lane lane-${(from === to ? from : Math.max(from, to)) % 6}${isRun && to === lines.lane ? ' dashed' : ''}`} d=${curve(x(from), 0, x(to), middle)} />`)}
    ${lines.below.map(([from, to], at) => html`<path key=${`b${at}`} class=${`lane lane-${Math.max(from, to) % 6}${isRun && from === lines.lane ? ' dashed' : ''}`} d=${curve(x(from), middle, x(to), ROW)} />`)}
    ${!isRun && html`<circle class=${`dot lane-${lines.lane % 6}${isTip ? ' tip-dot' : ''}`} cx=${x(lines.lane)} cy=${middle} r=${isTip ? 5.5 : 4} />`}</svg>`;
}

function Commit({ repository, id, known }) {
  const found = useAnswer(!known && `commit ${id}`, () => askOnce([repository.name, 'resolve', id]));
  const commit = known ?? (found.value ? { ...found.value, id } : null);
  const changes = useAnswer(commit?.parent && `changes ${commit.parent} ${id}`, (signal) => ask([repository.name, 'diff'], { from: commit.parent, to: id, limit: 50 }, signal));
  const close = () => {
    go({ commit: '' }, { replace: true });
    document.getElementById('history')?.focus();
  };
  if (found.error) return html`<aside class="commit-detail" aria-label="Commit"><${Problem} error=${found.error} again=${found.again} /></aside>`;
  if (!commit) return html`<aside class="commit-detail" aria-label="Commit"><${Loading} /></aside>`;
  const metadata = Object.entries(commit.metadata ?? {});
  return html`<aside class="commit-detail" aria-label="Commit">
    <button type="button" class="quiet close" aria-label="Close" onClick=${close}>×</button>
    <h1>${firstLine(commit.message, 300) || 'No message'}</h1>
    ${block(commit.message).includes('\n') && html`<pre class="message" tabindex="0" role="region" aria-label="Message">${block(commit.message, 20_000)}</pre>`}
    <dl class="commit-facts"><div><dt>Snapshot</dt><dd><code>${id}</code> <${Copy} text=${id} what="the snapshot id" /></dd></div>
      <div><dt>Written</dt><dd>${time(commit.written_at)} UTC <span class="muted">${ago(commit.written_at)}</span></dd></div>
      ${commit.parent && html`<div><dt>Parent</dt><dd><${Go} to=${{ commit: commit.parent }}><code>${commit.parent}</code></${Go}></dd></div>`}
      ${(commit.merged ?? []).map((other) => html`<div key=${other}><dt>Merges</dt><dd><${Go} to=${{ commit: other }}><code>${other}</code></${Go}></dd></div>`)}
      ${commit.refs?.length > 0 && html`<div><dt>Refs</dt><dd>${commit.refs.map((ref) => html`<${Go} key=${ref} to=${{ view: 'data', ref }} class=${ref.startsWith('tag:') ? 'badge tag' : 'badge branch'}>${line(ref.replace(/^tag:/, ''), 60)}</${Go}>`)}</dd></div>`}
      ${metadata.slice(0, 50).map(([name, value]) => html`<div key=${name}><dt>${line(name, 60)}</dt><dd>${line(typeof value === 'string' ? value : JSON.stringify(value), 1000)}</dd></div>`)}</dl>
    <p class="actions"><${Go} class="button primary" to=${{ view: 'data', ref: id, commit: '' }}>Open its data</${Go}> ${commit.parent && html`<${Go} class="button" to=${{ view: 'compare', from: commit.parent, to: id, node: '', commit: '' }}>Compare with its parent</${Go}>`}</p>
    ${commit.parent ? html`<h2>What changed</h2>
      ${changes.error && html`<${Problem} error=${changes.error} again=${changes.again} />`}${changes.loading && html`<${Loading}>Comparing with the parent…</${Loading}>`}
      ${changes.value && html`<${ChangeList} nodes=${changes.value.nodes} total=${changes.value.total} to=${(it) => ({ view: 'compare', from: commit.parent, to: id, node: it.path, fromnode: it.from_path ?? '', commit: '' })} />`}` : html`<p class="muted">The first snapshot of the repository.</p>`}
  </aside>`;
}
