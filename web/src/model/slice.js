// Which part of an array a plot shows, and how much is read for it.

/** Slices that would read more than this are cut to a window, until more is asked for. */
export const READ_AT_ONCE = 128 << 20;
/** And so would those of more elements, which become numbers of eight bytes. */
const ELEMENTS_AT_ONCE = 16_000_000;
/** And those of more chunks, each of which is a request. */
export const CHUNKS_AT_ONCE = 2_000;

const ITEM = { bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, float16: 2, int32: 4, uint32: 4, float32: 4 };

/** Returns whether elements of a type can be drawn as numbers. */
export function isNumeric(type) {
  return /^(bool|u?int(8|16|32|64)|float(16|32|64))$/.test(type);
}

function whole(text, limit) {
  return /^\d+$/.test(text ?? '') && Number(text) < limit ? Number(text) : null;
}

/**
 * Returns `{ x, y, positions, window }` of an array: its dimensions across and up (`y` is -1 for a line, both are -1 for a
 * scalar), a position in each other dimension, and `[y0, y1, x0, x1]`. What the address says badly is replaced by what fits.
 */
export function planned({ shape, chunks, type, roles }, page) {
  const rank = shape.length;
  let x = whole(page.x, rank);
  let y = whole(page.y, rank);
  if (x === null) x = roles.findIndex((role, at) => role === 'longitude' && at !== y);
  if (y === null) y = roles.findIndex((role, at) => role === 'latitude' && at !== x);
  const left = shape.map((_, at) => at).filter((at) => at !== x && at !== y);
  // Dimensions of one element show little; the last ones vary fastest.
  const best = () => {
    const wide = left.filter((at) => shape[at] > 1);
    return (wide.length ? wide : left).at(-1) ?? -1;
  };
  if (x < 0) {
    x = best();
    left.splice(left.indexOf(x), 1);
  }
  if (y < 0 || y === x) y = rank > 1 ? best() : -1;
  const asked = page.at.split(',');
  const positions = shape.map((length, at) => Math.min(whole(asked[at], length) ?? 0, Math.max(0, length - 1)));
  const [rows, columns] = [y < 0 ? 1 : shape[y], x < 0 ? 1 : shape[x]];
  const window = asWindow(page.region, rows, columns) ?? cut({ shape, chunks, type, x, y, rows, columns });
  return { x, y, positions, window, isWhole: window[0] === 0 && window[1] === rows && window[2] === 0 && window[3] === columns };
}

function asWindow(text, rows, columns) {
  const found = /^(\d+),(\d+),(\d+),(\d+)$/.exec(text);
  if (!found) return null;
  const [y0, y1, x0, x1] = found.slice(1).map(Number);
  return y0 < y1 && x0 < x1 && y1 <= rows && x1 <= columns ? [y0, y1, x0, x1] : null;
}

/** The bytes that must be decoded for a window: those of all chunks that it touches. */
export function cost({ shape, chunks, type, x, y }, [y0, y1, x0, x1]) {
  const touched = (from, to, length) => (Math.floor((to - 1) / length) - Math.floor(from / length) + 1) * length;
  let elements = 1;
  for (let at = 0; at < shape.length; at += 1) {
    const length = Math.max(1, chunks[at] ?? shape[at]);
    if (at === x) elements *= touched(x0, x1, length);
    else if (at === y) elements *= touched(y0, y1, length);
    else elements *= length;
  }
  return elements * (ITEM[type] ?? 8);
}

/** The number of chunks that a window touches. */
export function pieces({ shape, chunks, x, y }, [y0, y1, x0, x1]) {
  const touched = (from, to, length) => Math.floor((to - 1) / length) - Math.floor(from / length) + 1;
  const across = x < 0 ? 1 : touched(x0, x1, Math.max(1, chunks[x] ?? shape[x]));
  return across * (y < 0 ? 1 : touched(y0, y1, Math.max(1, chunks[y] ?? shape[y])));
}

/** Returns whether a window is more than what is read without being asked for. */
export function isLarge(array, window) {
  const [y0, y1, x0, x1] = window;
  return cost(array, window) > READ_AT_ONCE || (y1 - y0) * (x1 - x0) > ELEMENTS_AT_ONCE || pieces(array, window) > CHUNKS_AT_ONCE;
}

/** The largest window around the middle that may be read at once. */
function cut(array) {
  let [height, width] = [array.rows, array.columns];
  const middle = () => {
    const y0 = Math.floor((array.rows - height) / 2);
    const x0 = Math.floor((array.columns - width) / 2);
    return [y0, y0 + height, x0, x0 + width];
  };
  while (isLarge(array, middle()) && (height > 64 || width > 64)) {
    if (width >= height) width = Math.max(64, Math.floor(width / 2));
    else height = Math.max(64, Math.floor(height / 2));
  }
  return middle();
}

/** Returns what the worker is asked for. */
export function selection({ x, y, positions, window: [y0, y1, x0, x1] }) {
  return positions.map((position, at) => {
    if (at === x) return [x0, x1];
    return at === y ? [y0, y1] : position;
  });
}

/** Returns how far apart neighbours are in the elements of an answer, by rows and by columns. */
export function strides({ x, y, window: [y0, y1, x0, x1] }) {
  return y < x ? { down: x1 - x0, right: 1 } : { down: 1, right: y1 - y0 };
}

/** Returns which elements of an answer lie in chunks that do not exist, or `null` if none does. */
export function unwritten(missing, { x, y, positions, window: [y0, y1, x0, x1] }, chunks) {
  const { down, right } = strides({ x, y, window: [y0, y1, x0, x1] });
  let mask = null;
  for (const index of missing) {
    const lies = positions.every((position, at) => at === x || at === y || Math.floor(position / chunks[at]) === index[at]);
    if (!lies) continue;
    const span = (dimension, from, to) => {
      if (dimension < 0) return [0, 1];
      const start = index[dimension] * chunks[dimension];
      return [Math.max(start, from) - from, Math.min(start + chunks[dimension], to) - from];
    };
    const [top, bottom] = span(y, y0, y1);
    const [left, end] = span(x, x0, x1);
    for (let row = top; row < bottom; row += 1) {
      for (let column = left; column < end; column += 1) {
        mask ??= new Uint8Array((y1 - y0) * (x1 - x0));
        mask[row * down + column * right] = 1;
      }
    }
  }
  return mask;
}

/** Returns the row and the column of the point that a page marks, or `null`. */
export function pointOf({ point }) {
  const found = /^(\d+),(\d+)$/.exec(point);
  return found ? [Number(found[1]), Number(found[2])] : null;
}
