// Where a field lies on its canvas, and which element is where.
import { Axis } from './axis.js';
import { boxOf } from './curved.js';
import { strides } from '../model/slice.js';

const MARGIN = { left: 62, top: 26, right: 112, bottom: 26, titled: 44 };
/** What should still be seen under a plot: the value under the cursor, and the first slider. */
const BELOW = 152;

/** Where a plot is on its canvas, and which element is where. */
export function geometry({ width, above, plan, dims, curved, isMap }) {
  const [y0, y1, x0, x1] = plan.window;
  const xAxis = new Axis({ ...dims[plan.x] }).window(x0, x1);
  const yAxis = new Axis({ ...dims[plan.y], isVertical: true }).window(y0, y1);
  const step = strides(plan);
  const inner = Math.max(80, width - MARGIN.left - MARGIN.right);
  const tallest = Math.max(260, Math.min(innerHeight - above - BELOW, 1000));
  let box = null;
  let ratio = (y1 - y0) / (x1 - x0);
  if (isMap) {
    box = boxOf(...windowed(curved, plan));
    if (box) ratio = (box.north - box.south) / (box.east - box.west);
  } else if (xAxis.role === 'longitude' && yAxis.role === 'latitude' && xAxis.coordinates && yAxis.coordinates) {
    const span = (axis) => Math.abs(axis.ends[1] - axis.ends[0]);
    ratio = span(yAxis) / span(xAxis);
  } else if (xAxis.coordinates || yAxis.coordinates) ratio = 0.5;
  // Very flat and very tall fields are stretched: thin strips show nothing.
  ratio = Math.max(0.18, Math.min(2.5, ratio));
  let w = inner;
  let h = w * ratio;
  if (h > tallest) {
    h = tallest;
    w = Math.max(Math.min(inner, h / ratio), Math.min(inner, 160));
  }
  return { xAxis, yAxis, step, box, left: MARGIN.left, top: MARGIN.top, w: Math.round(w), h: Math.round(h), height: Math.round(h) + MARGIN.top + (!box && xAxis.title ? MARGIN.titled : MARGIN.bottom) };
}

/** The height of what is above an element in its view, if that is not scrolled. */
export function aboveOf(element) {
  const scrolled = element.closest('.content')?.scrollTop ?? 0;
  return Math.min(innerHeight / 2, element.getBoundingClientRect().top + scrolled + MARGIN.top);
}

/** The coordinates of a curved grid inside the window, as rows of the plot. */
export function windowed(curved, { y, window: [y0, y1, x0, x1] }) {
  const [rows, columns] = [y1 - y0, x1 - x0];
  const turned = curved.dims[0] !== y;
  const out = [new Float64Array(rows * columns), new Float64Array(rows * columns)];
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const from = turned ? (column + x0) * curved.columns + row + y0 : (row + y0) * curved.columns + column + x0;
      out[0][row * columns + column] = curved.latitudes[from];
      out[1][row * columns + column] = curved.longitudes[from];
    }
  }
  return out;
}

/** Returns the coordinate at a part of an axis, from left or from the top. */
export function coordinateAt(axis, part) {
  const [low, high] = axis.ends;
  return axis.isVertical ? high - part * (high - low) : low + part * (high - low);
}

/** Returns whether rows of a curved grid run from south to north. */
export function isNorthUp(cells, columns) {
  return cells.latitudes[0] <= cells.latitudes[cells.latitudes.length - columns];
}

/** Returns where an element is drawn. */
export function pixelOf(place, cells, row, column, columns) {
  if (!cells) {
    const [y0, x0] = [place.yAxis.start, place.xAxis.start];
    return [place.left + place.xAxis.partAt(column + x0) * place.w, place.top + place.yAxis.partAt(row + y0) * place.h];
  }
  const at = row * columns + column;
  const { box } = place;
  let longitude = cells.longitudes[at];
  if (!Number.isFinite(longitude)) return [null, null];
  while (longitude < box.west) longitude += 360;
  while (longitude > box.east) longitude -= 360;
  return [place.left + ((longitude - box.west) / (box.east - box.west)) * place.w, place.top + ((box.north - cells.latitudes[at]) / (box.north - box.south)) * place.h];
}

/** The smallest window of elements that covers a box that was drawn on a map. */
export function regionOfMap(place, cells, { from, to }, columns) {
  const part = ([x, y]) => [((x - place.left) / place.w) * cells.w, ((y - place.top) / place.h) * cells.h];
  const [a, b] = [part(from), part(to)];
  let [top, bottom, left, right] = [Infinity, -1, Infinity, -1];
  for (let y = Math.max(0, Math.floor(Math.min(a[1], b[1]))); y < Math.min(cells.h, Math.max(a[1], b[1])); y += 1) {
    for (let x = Math.max(0, Math.floor(Math.min(a[0], b[0]))); x < Math.min(cells.w, Math.max(a[0], b[0])); x += 1) {
      const cell = cells.at[y * cells.w + x];
      if (cell < 0) continue;
      const [row, column] = [Math.floor(cell / columns), cell % columns];
      top = Math.min(top, row);
      bottom = Math.max(bottom, row);
      left = Math.min(left, column);
      right = Math.max(right, column);
    }
  }
  return bottom < 0 ? null : [[top, left], [bottom, right]];
}
