// The canvas of a field: pixels, axes, the colour bar, and a cursor for pointer and keys.
import { html, useDark, useEffect, useLayoutEffect, useMemo, useRef, useSize, useState } from './base.js';
import { spelled } from '../plot/axis.js';
import { cellsOf } from '../plot/curved.js';
import { colourBar, furniture } from '../plot/furniture.js';
import { fitted, paint, themeOf } from '../plot/paint.js';
import { aboveOf, coordinateAt, geometry, isNorthUp, pixelOf, regionOfMap, windowed } from '../plot/place.js';

export function Field({ numbers, unwritten, plan, dims, curved, isMap, colours, low, high, unit, decoding, label, point, onPoint, onRegion, onKeys, busy }) {
  const frame = useRef();
  const base = useRef();
  const over = useRef();
  const { width } = useSize(frame);
  const dark = useDark();
  const [cursor, setCursor] = useState(null);
  const [hover, setHover] = useState(null);
  const [drag, setDrag] = useState(null);
  const [said, say] = useState('');
  const [y0, y1, x0, x1] = plan.window;
  const columns = x1 - x0;

  const place = useMemo(() => (width ? geometry({ width, above: aboveOf(frame.current), plan, dims, curved, isMap }) : null), [width, plan.x, plan.y, String(plan.window), dims, curved, isMap]);
  const cells = useMemo(() => {
    if (!place?.box) return null;
    const [latitudes, longitudes] = windowed(curved, plan);
    const scale = Math.min(2, devicePixelRatio || 1);
    const [w, h] = [Math.round(place.w * scale), Math.round(place.h * scale)];
    return { w, h, latitudes, longitudes, at: cellsOf({ latitudes, longitudes, rows: y1 - y0, columns, box: place.box, width: w, height: h }) };
  }, [place]);
  const element = (row, column) => row * place.step.down + column * place.step.right;

  useLayoutEffect(() => {
    if (!place) return;
    const fit = fitted(base.current, width, place.height);
    if (!fit) return;
    const { context, scale } = fit;
    const theme = themeOf(base.current);
    const [w, h] = cells ? [cells.w, cells.h] : [Math.round(place.w * scale), Math.round(place.h * scale)];
    const image = new ImageData(w, h);
    let at;
    if (cells) {
      at = (x, y) => {
        const cell = cells.at[y * w + x];
        return cell < 0 ? -1 : element(Math.floor(cell / columns), cell % columns);
      };
    } else {
      const across = place.xAxis.positions(w);
      const down = place.yAxis.positions(h);
      at = (x, y) => element(down[y], across[x]);
    }
    paint(image, { numbers, at, low, high, colours, unwritten, theme, scale });
    const buffer = new OffscreenCanvas(w, h);
    buffer.getContext('2d').putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(buffer, place.left, place.top, place.w, place.h);
    furniture(context, base.current, place, cells);
    colourBar(context, base.current, place, { colours, low, high, unit, decoding });
  }, [numbers, unwritten, low, high, colours, place, cells, dark, width, unit]);

  useLayoutEffect(() => {
    if (!place) return;
    const fit = fitted(over.current, width, place.height);
    if (!fit) return;
    const { context } = fit;
    const style = getComputedStyle(over.current);
    const [ink, back] = [style.getPropertyValue('--ink'), style.getPropertyValue('--paper')];
    const mark = (row, column, isPoint) => {
      const [x, y] = pixelOf(place, cells, row, column, columns);
      if (x === null) return;
      for (const [colour, thick] of [[back, 4], [ink, 1.75]]) {
        context.strokeStyle = colour;
        context.lineWidth = thick;
        context.beginPath();
        if (isPoint) context.arc(x, y, 6, 0, 7);
        else {
          for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
            context.moveTo(x + dx * 4, y + dy * 4);
            context.lineTo(x + dx * 13, y + dy * 13);
          }
        }
        context.stroke();
      }
    };
    if (point && inside(point)) mark(point[0] - y0, point[1] - x0, true);
    if (cursor && !hover) mark(cursor[0], cursor[1], false);
    if (drag?.to) {
      const [[ax, ay], [bx, by]] = [drag.from, drag.to];
      context.strokeStyle = ink;
      context.setLineDash([5, 3]);
      context.fillStyle = 'rgba(120, 170, 200, 0.22)';
      context.fillRect(ax, ay, bx - ax, by - ay);
      context.strokeRect(ax, ay, bx - ax, by - ay);
    }
  }, [cursor, hover, drag, point, place, cells, dark, width]);

  useEffect(() => {
    setCursor(null);
    setHover(null);
  }, [plan.x, plan.y, String(plan.window)]);

  const inside = ([row, column]) => row >= y0 && row < y1 && column >= x0 && column < x1;
  const described = ([row, column]) => {
    const at = element(row, column);
    const where = cells
      ? `${spelled(round(cells.latitudes[row * columns + column]), 'latitude')}, ${spelled(round(cells.longitudes[row * columns + column]), 'longitude')}`
      : `${name(place.yAxis)}${place.yAxis.text(row + y0)}, ${name(place.xAxis)}${place.xAxis.text(column + x0)}`;
    const what = unwritten?.[at] ? 'not written' : Number.isNaN(numbers[at]) ? 'no data' : `${decoding.text(numbers[at])}${unit && !decoding.time ? ` ${unit}` : ''}`;
    return { where, what, index: `${row + y0}, ${column + x0}` };
  };
  const elementUnder = (event) => {
    const box = over.current.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const [partX, partY] = [(x - place.left) / place.w, (y - place.top) / place.h];
    if (partX < 0 || partX >= 1 || partY < 0 || partY >= 1) return { x, y, found: null };
    if (cells) {
      const cell = cells.at[Math.floor(partY * cells.h) * cells.w + Math.floor(partX * cells.w)];
      return { x, y, found: cell < 0 ? null : [Math.floor(cell / columns), cell % columns] };
    }
    return { x, y, found: [place.yAxis.nearest(coordinateAt(place.yAxis, partY)) - y0, place.xAxis.nearest(coordinateAt(place.xAxis, partX)) - x0] };
  };

  const moved = (event) => {
    if (!place) return;
    const { x, y, found } = elementUnder(event);
    if (drag) {
      const isFar = Math.abs(x - drag.from[0]) > 6 || Math.abs(y - drag.from[1]) > 6;
      setDrag({ ...drag, to: isFar || drag.to ? [x, y] : null, last: found ?? drag.last });
    }
    setHover(found && { at: found, x, y });
  };
  const pressed = (event) => {
    if (event.button !== 0 || !place) return;
    const { x, y, found } = elementUnder(event);
    if (found || cells) setDrag({ from: [x, y], first: found, to: null });
    over.current.setPointerCapture(event.pointerId);
  };
  const released = (event) => {
    if (!drag) return;
    setDrag(null);
    const { found } = elementUnder(event);
    if (!drag.to) {
      if (found) onPoint([found[0] + y0, found[1] + x0]);
      return;
    }
    const region = cells ? regionOfMap(place, cells, drag, columns) : [drag.first, found ?? drag.last];
    if (!region || !region[0] || !region[1]) return;
    const [a, b] = region;
    const [top, bottom] = [Math.min(a[0], b[0]), Math.max(a[0], b[0]) + 1];
    const [left, right] = [Math.min(a[1], b[1]), Math.max(a[1], b[1]) + 1];
    if (bottom - top > 1 && right - left > 1) onRegion([top + y0, bottom + y0, left + x0, right + x0]);
  };
  const keys = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !place) return;
    const at = cursor ?? (point && inside(point) ? [point[0] - y0, point[1] - x0] : [Math.floor((y1 - y0) / 2), Math.floor(columns / 2)]);
    const step = event.shiftKey ? 10 : 1;
    // Arrow keys follow the screen, whichever way the coordinates run.
    const up = cells || !place.yAxis.coordinates ? (cells && isNorthUp(cells, columns) ? 1 : -1) : place.yAxis.edges[0] <= place.yAxis.edges[1] ? 1 : -1;
    const right = !place.xAxis.coordinates || place.xAxis.edges[0] <= place.xAxis.edges[1] ? 1 : -1;
    const move = { ArrowUp: [up * step, 0], ArrowDown: [-up * step, 0], ArrowRight: [0, right * step], ArrowLeft: [0, -right * step] }[event.key];
    if (move) {
      event.preventDefault();
      const next = [Math.max(0, Math.min(y1 - y0 - 1, at[0] + move[0])), Math.max(0, Math.min(columns - 1, at[1] + move[1]))];
      setHover(null);
      setCursor(next);
      const { where, what } = described(next);
      say(`${where}: ${what}`);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      setCursor(at);
      onPoint([at[0] + y0, at[1] + x0]);
    } else if ('+=-'.includes(event.key)) {
      event.preventDefault();
      zoom(event.key === '-' ? 2 : 0.5, [at[0] + y0, at[1] + x0]);
    } else if (event.key === '0') {
      event.preventDefault();
      onRegion(null);
    } else if (onKeys(event)) event.preventDefault();
  };
  const zoom = (factor, [row, column]) => {
    const span = (from, to, middle, length) => {
      const size = Math.max(2, Math.min(length, Math.round((to - from) * factor)));
      const start = Math.max(0, Math.min(length - size, Math.round(middle - size / 2)));
      return [start, start + size];
    };
    const next = [...span(y0, y1, row, dims[plan.y].length), ...span(x0, x1, column, dims[plan.x].length)];
    const isAll = next[0] === 0 && next[2] === 0 && next[1] === dims[plan.y].length && next[3] === dims[plan.x].length;
    onRegion(isAll ? null : next);
  };

  const shown = hover?.at ?? cursor ?? (point && inside(point) ? [point[0] - y0, point[1] - x0] : null);
  const text = shown && place && numbers.length ? described(shown) : null;
  return html`<div class=${busy ? 'field busy' : 'field'} ref=${frame}>
    <canvas ref=${base} class="field-base" aria-hidden="true" style=${{ height: `${place?.height ?? 300}px` }}></canvas>
    <canvas ref=${over} class="field-over" tabindex="0" role="application" aria-roledescription="plot" aria-label=${label} aria-describedby="field-keys"
      style=${{ height: `${place?.height ?? 300}px` }}
      onPointerMove=${moved} onPointerDown=${pressed} onPointerUp=${released} onPointerLeave=${() => setHover(null)} onPointerCancel=${() => setDrag(null)}
      onDblClick=${() => onRegion(null)} onKeyDown=${keys}></canvas>
    ${hover && text && !drag?.to && html`<div class=${hover.x > width - 240 ? 'tip left' : 'tip'} aria-hidden="true" style=${{ transform: `translate(${hover.x}px, ${hover.y}px)` }}>
      <div class="tip-inner"><strong>${text.what}</strong><span>${text.where}</span></div></div>`}
    <p class="readout">${text ? html`<strong>${text.what}</strong><span>${text.where}</span><span class="muted">at ${text.index}</span>`
      : html`<span class="muted">Point at the field for its value, click for a line through it, drag to zoom.</span>`}</p>
    <p class="offscreen" id="field-keys">Arrow keys move the cursor, Enter draws the line through it, plus and minus zoom, 0 shows all. The button Table shows the numbers.</p>
    <p class="offscreen" aria-live="polite">${said}</p>
  </div>`;
}

function name(axis) {
  return axis.coordinates && axis.role ? '' : `${axis.name} `;
}

function round(number) {
  return Math.round(number * 100) / 100;
}
