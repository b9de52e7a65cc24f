// The document of an array, and what the conventions of CF say in its attributes.
import { timeDecoder } from './calendar.js';
import { line, value } from '../text.js';

/** Strings, which are left alone, and integers of many digits. */
const STRINGS_AND_INTEGERS = /"(?:[^"\\]|\\.)*"|-?\b\d{16,}(?![\d.eE])/gs;

/** Makes strings of integers that a number cannot hold, so that they keep their digits. */
function exact(text) {
  return text.replace(STRINGS_AND_INTEGERS, (token) => (token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`));
}

/** Parses a document; a damaged one is an empty object. */
export function parsed(text) {
  try {
    const found = JSON.parse(exact(text));
    return found && typeof found === 'object' ? found : {};
  } catch {
    return {};
  }
}

function numbers(attribute) {
  const list = Array.isArray(attribute) ? attribute : [attribute];
  return list.flatMap((it) => {
    if (typeof it === 'number') return [it];
    if (typeof it !== 'string') return [];
    if (it === 'NaN') return [NaN];
    if (/^-?\d+$/.test(it)) return [Number(it)];
    // As xarray stores a float: eight bytes, little-endian, as base64.
    if (!/^[A-Za-z0-9+/]{11}=$/.test(it)) return [];
    const raw = Uint8Array.from(atob(it), (char) => char.charCodeAt(0));
    return [new DataView(raw.buffer).getFloat64(0, true)];
  });
}

function scalar(attribute, otherwise) {
  const [first] = numbers(attribute);
  return first === undefined || Number.isNaN(first) ? otherwise : first;
}

/** What is needed to read the numbers of an array. */
export class Decoding {
  constructor(document) {
    const attributes = document.attributes ?? {};
    this.scale = scalar(attributes.scale_factor, 1);
    this.offset = scalar(attributes.add_offset, 0);
    this.units = typeof attributes.units === 'string' ? line(attributes.units, 60) : '';
    this.calendar = attributes.calendar;
    this.time = timeDecoder(attributes.units, attributes.calendar);
    this.none = [attributes._FillValue, attributes.missing_value].flatMap(numbers).filter((it) => !Number.isNaN(it));
    const [low, high] = numbers(attributes.valid_range);
    this.low = scalar(attributes.valid_min, low ?? -Infinity);
    this.high = scalar(attributes.valid_max, high ?? Infinity);
    this.flags = flags(attributes);
    const type = document.data_type;
    this.single = type === 'float32' || type === 'float16';
  }

  get isPacked() {
    return this.scale !== 1 || this.offset !== 0;
  }

  /** Returns one decoded number; NaN where there is no data. */
  number(raw) {
    const number = Number(raw);
    if (this.none.some((it) => it === number || (this.single && Math.fround(it) === number))) return NaN;
    if (number < this.low || number > this.high) return NaN;
    return number * this.scale + this.offset;
  }

  /** Returns decoded numbers; the raw ones where there is nothing to decode. */
  numbers(raw) {
    const plain = !this.none.length && !this.isPacked && this.low === -Infinity && this.high === Infinity;
    if (plain && (raw instanceof Float32Array || raw instanceof Float64Array)) return raw;
    const out = new Float64Array(raw.length);
    for (let at = 0; at < raw.length; at += 1) out[at] = this.number(raw[at]);
    return out;
  }

  /** Returns a decoded number as text, without its unit. */
  text(number) {
    if (this.time) return this.time(Number(number));
    return this.flags?.get(Number(number)) ?? value(number);
  }
}

function flags({ flag_values: values, flag_meanings: meanings }) {
  const words = typeof meanings === 'string' ? meanings.trim().split(/\s+/) : [];
  const keys = numbers(values);
  return words.length && words.length === keys.length ? new Map(keys.map((key, at) => [key, line(words[at].replaceAll('_', ' '), 60)])) : null;
}

/** Returns whether coordinates are `longitude`, `latitude`, `time`, or `null`. */
export function role(attributes = {}, name = '') {
  const { units, standard_name: standard, axis } = attributes;
  if (/^degrees?_?(north|n)$/i.test(units ?? '') || standard === 'latitude') return 'latitude';
  if (/^degrees?_?(east|e)$/i.test(units ?? '') || standard === 'longitude') return 'longitude';
  if (timeDecoder(units, attributes.calendar) || standard === 'time' || axis === 'T') return 'time';
  if (/^(lat|latitude|nav_lat)$/i.test(name)) return 'latitude';
  if (/^(lon|longitude|nav_lon)$/i.test(name)) return 'longitude';
  return null;
}

/** Returns the attributes of a document with the meaning that CF gives to some of them, as rows. */
export function explained(document) {
  const attributes = document.attributes ?? {};
  const decoding = new Decoding(document);
  const notes = {
    units: decoding.time ? `0 is ${decoding.time(0)}` : null,
    scale_factor: decoding.isPacked ? `numbers are stored × ${value(1 / decoding.scale)}` : null,
    _FillValue: decoding.none.length || attributes._FillValue !== undefined ? `${numbers(attributes._FillValue).map((it) => value(it)).join(', ')} stands for no data` : null,
    flag_values: decoding.flags ? [...decoding.flags].map(([key, name]) => `${key}: ${name}`).join(', ') : null,
  };
  return Object.entries(attributes).map(([name, it]) => ({ name, value: it, note: Object.hasOwn(notes, name) ? notes[name] : null }));
}

/** Returns the names in the attribute `coordinates`. */
export function coordinateNames(attributes = {}) {
  const { coordinates } = attributes;
  return typeof coordinates === 'string' ? coordinates.trim().split(/\s+/).filter(Boolean) : [];
}

/** Returns the name of the type of an array. */
export function typeName(document) {
  const type = document.data_type;
  return typeof type === 'string' ? type : (type?.name ?? '?');
}
