// Lists of any length, of which only the rows on the screen exist. One row is active: keys move it, and it always exists.
import { html, useEffect, useLayoutEffect, useRef, useState } from './base.js';

const BEYOND = 6;
/** Browsers lay out no element taller than some 17 million pixels. */
const TALLEST = 8_000_000;

/**
 * `total` rows of `height` pixels. `row(at)` returns `{ content, props }`; `onRange(first, last)` says which rows are shown,
 * `onKey(event, at)` takes keys that are not movement and returns whether it did something.
 */
export function VirtualList({ total, height, row, onRange, onOpen, onKey, active, setActive, role = 'listbox', itemRole = 'option', label, id, className = '', onEnd, tall }) {
  const box = useRef();
  const [view, setView] = useState({ top: 0, height: 600 });
  const first = Math.max(0, Math.floor(view.top / height) - BEYOND);
  const last = Math.min(total, Math.ceil((view.top + view.height) / height) + BEYOND);

  useLayoutEffect(() => {
    const element = box.current;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    onRange?.(first, last);
    if (last >= total) onEnd?.();
  }, [first, last, total]);

  const show = (at) => {
    const element = box.current;
    const top = at * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + element.clientHeight) element.scrollTop = top + height - element.clientHeight;
  };
  useEffect(() => {
    if (active >= 0 && active < total) show(active);
  }, [active, total > 0]);

  const keys = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(view.height / height) - 1);
    const moves = { ArrowDown: active + 1, j: active + 1, ArrowUp: active - 1, k: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: total - 1 };
    if (onKey?.(event, active)) {
      event.preventDefault();
      return;
    }
    if (event.key in moves && total) {
      event.preventDefault();
      setActive(Math.max(0, Math.min(total - 1, moves[event.key])));
    } else if ((event.key === 'Enter' || event.key === ' ') && active >= 0) {
      event.preventDefault();
      onOpen?.(active);
    }
  };

  const shown = [];
  for (let at = first; at < last; at += 1) shown.push(at);
  if (active >= 0 && active < total && (active < first || active >= last)) shown.push(active);
  return html`<div class=${`virtual ${className}`} ref=${box} tabindex="0" role=${role} aria-label=${label} id=${id}
      aria-activedescendant=${active >= 0 && active < total ? `${id}-${active}` : undefined} onKeyDown=${keys} style=${tall ? { height: `${tall}px` } : undefined}
      onScroll=${(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}>
    <div class="virtual-all" role="presentation" style=${{ height: `${Math.min(TALLEST, total * height)}px` }}>
      ${shown.map((at) => {
        const { content, props = {} } = row(at);
        return html`<div key=${at} id=${`${id}-${at}`} role=${itemRole} ...${props}
          class=${`virtual-row ${at === active ? 'active' : ''} ${props.class ?? ''}`}
          style=${{ transform: `translateY(${at * height}px)`, height: `${height}px` }}
          onClick=${() => {
            setActive(at);
            onOpen?.(at);
          }}>${content}</div>`;
      })}
    </div>
  </div>`;
}
