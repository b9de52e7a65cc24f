// The canvas of a chunk map, with a cursor for pointer and keys.
import { html, useDark, useLayoutEffect, useMemo, useRef, useSize, useState } from './base.js';
import { fitted } from '../plot/paint.js';
import { Sheet } from '../model/sheet.js';

/** Patterns, so that kinds differ by more than their colour. */
export function drawCell(context, x, y, size, { fill, mark, part = 1 }, colours) {
  const inner = size > 3 ? size - 1 : size;
  if (!fill) {
    if (size > 4) {
      context.strokeStyle = colours.faint;
      context.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
    } else {
      context.fillStyle = colours.empty;
      context.fillRect(x, y, inner, inner);
    }
    return;
  }
  context.globalAlpha = 0.25 + 0.75 * part;
  context.fillStyle = fill;
  context.fillRect(x, y, inner, inner);
  context.globalAlpha = 1;
  if (size < 6 || !mark) return;
  context.strokeStyle = colours.paper;
  context.fillStyle = colours.paper;
  context.lineWidth = 1.4;
  context.beginPath();
  if (mark === 'virtual') {
    context.moveTo(x, y + inner);
    context.lineTo(x + inner, y);
  } else if (mark === 'inline') context.arc(x + inner / 2, y + inner / 2, Math.max(1, size / 7), 0, 7);
  else if (mark === 'mixed') {
    context.moveTo(x, y + inner / 2);
    context.lineTo(x + inner, y + inner / 2);
  }
  if (mark === 'inline') context.fill();
  else context.stroke();
}

/** `look(flat)` gives the look of a cell, `describe(flat)` its text; `onPick(flat)` follows Enter and clicks. */
export function SheetMap({ counts, look, describe, onPick, picked = -1, label, id = 'sheet' }) {
  const frame = useRef();
  const base = useRef();
  const over = useRef();
  const { width } = useSize(frame);
  const dark = useDark();
  const [cursor, setCursor] = useState(-1);
  const [hover, setHover] = useState(null);
  const sheet = useMemo(() => (width ? new Sheet(counts, width, Math.max(240, Math.min(520, innerHeight - 420))) : null), [width, String(counts)]);

  useLayoutEffect(() => {
    if (!sheet) return;
    const height = Math.min(sheet.height, 20_000);
    const fit = fitted(base.current, sheet.width, height);
    if (!fit) return;
    const { context } = fit;
    const style = getComputedStyle(base.current);
    const colours = { faint: style.getPropertyValue('--cell-edge'), empty: style.getPropertyValue('--line'), paper: style.getPropertyValue('--paper') };
    context.lineWidth = 1;
    for (let flat = 0; flat < sheet.total; flat += 1) {
      const [x, y] = sheet.place(flat);
      if (y > height) break;
      drawCell(context, x, y, sheet.size, look(flat, style), colours);
    }
  }, [sheet, look, dark]);
  useLayoutEffect(() => {
    if (!sheet) return;
    const fit = fitted(over.current, sheet.width, Math.min(sheet.height, 20_000));
    if (!fit) return;
    const { context } = fit;
    const style = getComputedStyle(over.current);
    for (const [flat, colour] of [[picked, '--accent'], [hover?.flat ?? cursor, '--ink']]) {
      if (flat < 0) continue;
      const [x, y] = sheet.place(flat);
      context.strokeStyle = style.getPropertyValue(colour);
      context.lineWidth = 2;
      context.strokeRect(x - 1, y - 1, sheet.size + 1, sheet.size + 1);
    }
  }, [sheet, cursor, hover, picked, dark]);

  const under = (event) => {
    const box = over.current.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const flat = sheet ? sheet.under(x, y) : -1;
    return flat < 0 ? null : { flat, x, y };
  };
  const keys = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !sheet) return;
    const at = Math.max(0, cursor);
    const panel = sheet.rows * sheet.columns;
    const next = {
      ArrowRight: () => sheet.next(at, 1, 0), ArrowLeft: () => sheet.next(at, -1, 0), ArrowDown: () => sheet.next(at, 0, 1), ArrowUp: () => sheet.next(at, 0, -1),
      PageDown: () => Math.min(sheet.total - 1, at + panel), PageUp: () => Math.max(0, at - panel), Home: () => 0, End: () => sheet.total - 1,
    }[event.key];
    if (next) {
      event.preventDefault();
      setHover(null);
      setCursor(cursor < 0 ? 0 : next());
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      setCursor(at);
      onPick?.(at);
    }
  };
  const shown = hover?.flat ?? cursor;
  const text = shown >= 0 && shown < (sheet?.total ?? 0) ? describe(shown) : null;
  return html`<div class="sheet" ref=${frame}>
    <div class="sheet-box" style=${{ height: `${Math.min(sheet?.height ?? 200, 20_000) + 4}px` }}>
      <canvas ref=${base} aria-hidden="true" style=${{ width: `${sheet?.width ?? 0}px`, height: `${sheet?.height ?? 0}px` }}></canvas>
      <canvas ref=${over} id=${id} tabindex="0" role="application" aria-roledescription="chunk map" aria-label=${label} style=${{ width: `${sheet?.width ?? 0}px`, height: `${sheet?.height ?? 0}px` }}
        onPointerMove=${(event) => setHover(under(event))} onPointerLeave=${() => setHover(null)} onKeyDown=${keys}
        onClick=${(event) => {
          const found = under(event);
          if (!found) return;
          setCursor(found.flat);
          onPick?.(found.flat);
        }}></canvas>
      ${hover && text && html`<div class=${hover.x > (sheet?.width ?? 0) - 200 && hover.x > 220 ? 'tip left' : 'tip'} aria-hidden="true" style=${{ transform: `translate(${hover.x}px, ${hover.y}px)` }}><div class="tip-inner"><strong>${text.title}</strong><span>${text.detail}</span></div></div>`}
    </div>
    <p class="readout" aria-live="polite">${text && !hover ? html`<strong>${text.title}</strong><span>${text.detail}</span>` : html`<span class="muted">Arrow keys move from chunk to chunk, Enter shows one.</span>`}</p>
  </div>`;
}
