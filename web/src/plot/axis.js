// One axis of a plot: how pixels, positions in the array, and coordinates belong together.
import { degreeTicks, ticks } from './limits.js';
import { value } from '../text.js';

export class Axis {
  /**
   * `length` of the dimension, its `name`, and, if known, `coordinates` (numbers, one per position) with their `decoding` and
   * `role`. `isVertical` axes grow upwards where there are coordinates, and downwards where there are positions alone.
   */
  constructor({ length, name, coordinates = null, decoding = null, role = null, isVertical = false }) {
    const usable = coordinates && coordinates.length === length && isMonotonic(coordinates) ? coordinates : null;
    Object.assign(this, { length, name, decoding, role, isVertical, coordinates: usable });
    this.start = 0;
    this.stop = length;
  }

  /** Restricts the axis to some positions. */
  window(start, stop) {
    this.start = Math.max(0, Math.min(start, this.length - 1));
    this.stop = Math.max(this.start + 1, Math.min(stop, this.length));
    return this;
  }

  get size() {
    return this.stop - this.start;
  }

  /** The coordinates of the outer edges of the window: half a step beyond the outermost centres. */
  get edges() {
    const at = this.coordinates;
    if (!at) return [this.start - 0.5, this.stop - 0.5];
    const [first, last] = [at[this.start], at[this.stop - 1]];
    if (this.size === 1) return [first - 0.5, first + 0.5];
    return [first - (at[this.start + 1] - first) / 2, last + (last - at[this.stop - 2]) / 2];
  }

  /** The coordinates at the left or bottom, and at the right or top. */
  get ends() {
    const [a, b] = this.edges;
    const grows = this.coordinates ? a <= b : !this.isVertical;
    return grows ? [a, b] : [b, a];
  }

  /** Returns the position for each of so many pixels, from left to right or from top to bottom, counted from the window. */
  positions(pixels) {
    const found = new Int32Array(pixels);
    const [low, high] = this.ends;
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      const part = (pixel + 0.5) / pixels;
      found[pixel] = this.nearest(this.isVertical ? high - part * (high - low) : low + part * (high - low)) - this.start;
    }
    return found;
  }

  /** Returns the position in the window that is nearest to a coordinate. */
  nearest(coordinate) {
    const at = this.coordinates;
    if (!at) return Math.max(this.start, Math.min(this.stop - 1, Math.round(coordinate)));
    let [low, high] = [this.start, this.stop - 1];
    const grows = at[high] >= at[low];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (at[middle] <= coordinate === grows) low = middle;
      else high = middle;
    }
    return Math.abs(at[low] - coordinate) <= Math.abs(at[high] - coordinate) ? low : high;
  }

  /** Returns the part of the axis, 0 to 1 from left or top, at a coordinate. */
  part(coordinate) {
    const [low, high] = this.ends;
    const part = (coordinate - low) / (high - low || 1);
    return this.isVertical ? 1 - part : part;
  }

  /** Returns the part at the centre of a position. */
  partAt(position) {
    return this.part(this.coordinates ? this.coordinates[position] : position);
  }

  /** Returns ticks as `{ part, text }`. */
  ticks(about) {
    const [low, high] = this.ends;
    if (this.decoding?.time && this.coordinates) {
      const step = Math.max(1, Math.ceil(this.size / about));
      const places = [];
      for (let at = this.start; at < this.stop; at += step) places.push({ part: this.partAt(at), text: this.decoding.time(this.coordinates[at]).slice(0, 10) });
      return places;
    }
    const isDegrees = this.role === 'latitude' || this.role === 'longitude';
    const found = isDegrees && this.coordinates ? degreeTicks(low, high, about) : ticks(low, high, about);
    const whole = this.coordinates ? found : found.filter(Number.isInteger);
    return whole.map((at) => ({ part: this.part(at), text: this.coordinates ? spelled(at, this.role, this.decoding) : value(at) }));
  }

  /** Returns the coordinate at a position as text with its unit. */
  text(position) {
    if (!this.coordinates) return String(position);
    const at = this.coordinates[position];
    const text = spelled(at, this.role, this.decoding);
    const unit = this.role && this.role !== 'time' ? '' : this.decoding?.units;
    return this.decoding?.time || !unit ? text : `${text} ${unit}`;
  }

  get title() {
    if (!this.coordinates) return `${this.name} (position)`;
    if (this.role) return '';
    return this.decoding?.units ? `${this.name} (${this.decoding.units})` : this.name;
  }
}

export function spelled(at, role, decoding) {
  if (role === 'latitude') return at === 0 ? '0°' : `${value(Math.abs(at))}° ${at > 0 ? 'N' : 'S'}`;
  if (role === 'longitude') {
    const turned = ((((at + 180) % 360) + 360) % 360) - 180;
    const isSeam = Math.abs(turned) === 180;
    return turned === 0 || isSeam ? `${Math.abs(turned)}°` : `${value(Math.abs(turned))}° ${turned > 0 ? 'E' : 'W'}`;
  }
  return decoding ? decoding.text(at) : value(at);
}

function isMonotonic(numbers) {
  const grows = numbers[numbers.length - 1] > numbers[0];
  for (let at = 0; at < numbers.length; at += 1) {
    if (!Number.isFinite(numbers[at])) return false;
    if (at && numbers[at] > numbers[at - 1] !== grows) return false;
    if (at && numbers[at] === numbers[at - 1]) return false;
  }
  return true;
}
