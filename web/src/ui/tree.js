// The hierarchy of one version: a filter, and a tree of which only the rows on the screen are asked for.
import { Empty, Loading, Problem, html, useCallback, useEffect, useLayoutEffect, useRef, useState } from './base.js';
import { VirtualList } from './virtual.js';
import { askOnce } from '../api.js';
import { go } from '../state.js';
import { bytes, count, counted, line, shape } from '../text.js';

const PAGE = 200;
const ROW = 34;

/** Pages of nodes, by number. Old ones go when there are many: they are asked for again. */
function useNodes(repo, snapshot, q, hide) {
  const key = JSON.stringify([repo, snapshot, q, hide]);
  const pages = useRef({ key, loaded: new Map(), total: null });
  const [, redraw] = useState(0);
  const [error, setError] = useState(null);
  if (pages.current.key !== key) pages.current = { key, loaded: new Map(), total: null, before: pages.current.total };

  const load = useCallback((number) => {
    const current = pages.current;
    if (current.loaded.has(number)) return;
    current.loaded.set(number, null);
    askOnce([repo, 'tree', snapshot], { offset: number * PAGE, limit: PAGE, q, hide })
      .then((answer) => {
        current.loaded.set(number, answer.nodes);
        Object.assign(current, { total: answer.total, arrays: answer.arrays, groups: answer.groups });
        if (current.loaded.size > 60) current.loaded.delete(current.loaded.keys().next().value);
        setError(null);
        redraw((it) => it + 1);
      })
      .catch((problem) => {
        current.loaded.delete(number);
        setError(problem);
      });
  }, [key]);
  useEffect(() => load(0), [key]);
  const node = (at) => pages.current.loaded.get(Math.floor(at / PAGE))?.[at % PAGE] ?? null;
  return { ...pages.current, node, load, error, key };
}

/** Sizes of arrays on the screen, asked for together once the list rests. */
function useSizes(repo, snapshot) {
  const known = useRef(new Map());
  const [, redraw] = useState(0);
  const timer = useRef();
  useEffect(() => {
    known.current = new Map();
  }, [repo, snapshot]);
  const want = useCallback((paths) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      const asked = paths.filter((path) => !known.current.has(path)).slice(0, 50);
      if (!asked.length) return;
      const map = known.current;
      asked.forEach((path) => map.set(path, null));
      try {
        const { sizes } = await askOnce([repo, 'sizes', snapshot], { path: asked });
        sizes.forEach((size) => map.set(size.path, size));
        redraw((it) => it + 1);
      } catch {
        // The sizes only decorate the tree.
      }
    }, 200);
  }, [repo, snapshot]);
  return { sizeOf: (path) => known.current.get(path), want };
}

export function storedBytes(size) {
  return ['native', 'inline', 'virtual'].reduce((sum, kind) => sum + Number(size[kind].bytes), 0);
}

function facts(node) {
  const names = node.dimension_names ?? [];
  const sides = node.shape.map((length, at) => (names[at] ? `${line(names[at], 30)} ${count(length)}` : count(length)));
  return sides.join(' × ') || 'scalar';
}

export function Tree({ repository, snapshot, page }) {
  const [q, setQ] = useState(page.q);
  const timer = useRef();
  const nodes = useNodes(repository.name, snapshot, page.q, page.hide);
  const { sizeOf, want } = useSizes(repository.name, snapshot);
  const [active, setActive] = useState(-1);
  const shown = useRef([0, 0]);
  useEffect(() => setQ(page.q), [page.q]);

  const visible = () => {
    const [first, last] = shown.current;
    for (let number = Math.floor(first / PAGE); number <= Math.floor(Math.max(first, last - 1) / PAGE); number += 1) nodes.load(number);
    const paths = [];
    for (let at = first; at < last; at += 1) {
      const node = nodes.node(at);
      if (node?.kind === 'array') paths.push(node.path);
    }
    if (paths.length) want(paths);
  };
  useEffect(visible, [nodes.key, nodes.total, snapshot]);

  // The open node is the active one, once it is loaded. Before the next key, which would meet another row.
  useLayoutEffect(() => {
    for (let at = 0; at < Math.min(nodes.total ?? 0, 400); at += 1) {
      if (nodes.node(at)?.path === (page.path || '/')) {
        setActive(at);
        return;
      }
    }
  }, [page.path, nodes.key, nodes.total]);

  const toggle = (node, fold) => {
    const isFolded = page.hide.includes(node.path);
    if (isFolded === fold) return false;
    go({ hide: fold ? [...page.hide, node.path].slice(-64) : page.hide.filter((it) => it !== node.path) }, { replace: true });
    return true;
  };
  const keys = (event, at) => {
    const node = at >= 0 ? nodes.node(at) : null;
    if (!node) return false;
    if (event.key === 'ArrowLeft') {
      if (node.kind !== 'array' && toggle(node, true)) return true;
      const parent = node.path.slice(0, node.path.lastIndexOf('/')) || '/';
      for (let above = at - 1; above >= 0; above -= 1) {
        if (nodes.node(above)?.path === parent) {
          setActive(above);
          return true;
        }
      }
      return true;
    }
    return event.key === 'ArrowRight' && node.kind !== 'array' && toggle(node, false);
  };
  const search = (event) => {
    const text = event.currentTarget.value;
    setQ(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => go({ q: text.trim() }, { replace: true }), 180);
  };

  const row = (at) => {
    const node = nodes.node(at);
    if (!node) return { content: html`<span class="ghost"></span>`, props: { 'aria-level': 1, 'aria-setsize': nodes.total, 'aria-posinset': at + 1, 'aria-label': 'being read' } };
    const isArray = node.kind === 'array';
    const isFolded = page.hide.includes(node.path);
    const size = isArray ? sizeOf(node.path) : null;
    const name = node.path === '/' ? repository.name : node.path.slice(node.path.lastIndexOf('/') + 1);
    return {
      props: {
        class: `node ${node.kind}`, 'aria-level': node.depth + 1, 'aria-setsize': nodes.total, 'aria-posinset': at + 1,
        'aria-selected': node.path === (page.path || '/'), 'aria-expanded': isArray ? undefined : !isFolded,
        title: isArray ? [line(node.title ?? ''), `${facts(node)}`, `chunks ${shape(node.chunk_shape)}`, line((node.codecs ?? []).join(', '))].filter(Boolean).join('\n') : line(node.path),
      },
      content: html`<span class="indent" style=${{ width: `${Math.min(node.depth, 12) * 14}px` }}></span>
        ${isArray ? html`<span class="cube" aria-hidden="true"></span>` : html`<span class=${isFolded ? 'twist' : 'twist open'} aria-hidden="true" onClick=${(event) => {
          event.stopPropagation();
          toggle(node, !isFolded);
        }}></span>`}
        <span class="node-name">${line(name, 120)}</span>
        ${isArray && html`<span class="node-facts">${node.error ? html`<span class="bad">unreadable</span>` : html`${node.shape.length ? node.shape.map(count).join('×') : 'scalar'} <span class="type">${line(node.data_type, 24)}</span>`}</span>
          <span class="node-size">${size ? bytes(storedBytes(size)) : ''}</span>`}`,
    };
  };
  return html`<section class="tree" aria-label="Arrays and groups">
    <div class="filter"><label class="offscreen" for="filter">Filter by name, type, dimension or title</label>
      <input id="filter" type="search" value=${q} placeholder="Filter by name, type, dimension…" onInput=${search} aria-keyshortcuts="f" spellcheck="false" autocomplete="off"
        onKeyDown=${(event) => {
          if (event.key === 'ArrowDown') {
            event.preventDefault();
            document.getElementById('tree').focus();
          }
        }} />
      <p class="tree-count" role="status">${nodes.total === null ? ' ' : page.q ? `${counted(nodes.total, 'row')} of ${count(nodes.arrays + nodes.groups)}` : `${counted(nodes.arrays, 'array')}, ${counted(nodes.groups, 'group')}`}</p></div>
    ${nodes.error && html`<${Problem} error=${nodes.error} again=${() => nodes.load(0)} />`}
    ${nodes.total === null && !nodes.error && html`<${Loading} />`}
    ${nodes.total === 0 && html`<${Empty} title="No match">Nothing here has “${line(page.q, 60)}” in its path, data type, dimensions or title.</${Empty}>`}
    <${VirtualList} id="tree" className="tree-list" role="tree" itemRole="treeitem" label="Arrays and groups" total=${nodes.total ?? nodes.before ?? 0} height=${ROW} row=${row}
      active=${active} setActive=${setActive} onKey=${keys}
      onRange=${(first, last) => {
        shown.current = [first, last];
        visible();
      }}
      onOpen=${(at) => {
        const node = nodes.node(at);
        if (node) go({ path: node.path === '/' ? '' : node.path });
      }} />
  </section>`;
}
