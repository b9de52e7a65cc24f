// Text from a repository, made safe to read, and numbers, sizes and times made easy to read.

/** Control characters, and those that change the direction of text or have no width. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const HIDDEN_OR_BREAK = new RegExp(`${HIDDEN.source}|[\\t\\n]`, 'gu');

function spelled(char) {
  const code = char.codePointAt(0);
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
}

/** Returns one line of text with every hidden character spelled out, at most `limit` characters. */
export function line(text, limit = 300) {
  const whole = String(text ?? '');
  const cut = whole.length > limit;
  const shown = (cut ? whole.slice(0, limit) : whole).replace(HIDDEN_OR_BREAK, spelled);
  return cut ? `${shown}…` : shown;
}

/** Returns text of several lines with hidden characters spelled out, at most `limit` characters. */
export function block(text, limit = 1_000_000) {
  const whole = String(text ?? '');
  const cut = whole.length > limit;
  const shown = (cut ? whole.slice(0, limit) : whole).replaceAll('\r\n', '\n').replace(HIDDEN, spelled);
  return cut ? `${shown}\n… ${count(whole.length - limit)} more characters` : shown;
}

/** Returns the first line of a message. */
export function firstLine(text, limit = 200) {
  const end = String(text ?? '').search(/[\r\n]/);
  return line(end < 0 ? text : text.slice(0, end), limit);
}

/** Splits text into parts, of which those with `href` are http or https links. */
export function linked(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(/\bhttps?:\/\/[^\s<>"'\u27e8\u27e9]+/g)) {
    const address = found[0].replace(/[).,;:\]}]+$/, '');
    let href = null;
    try {
      const url = new URL(address);
      href = url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
    } catch {
      // Not an address after all.
    }
    if (!href) continue;
    if (found.index > at) parts.push({ text: text.slice(at, found.index) });
    parts.push({ text: address, href });
    at = found.index + address.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
}

/** Returns an integer with thin spaces between groups of three digits; takes decimal strings, too. */
export function count(number) {
  const digits = String(number);
  return /^-?\d{5,}$/.test(digits) ? digits.replace(/\B(?=(\d{3})+$)/g, '\u202f') : digits;
}

/** Returns a count with its noun. */
export function counted(number, one, several = `${one}s`) {
  return `${count(number)} ${String(number) === '1' ? one : several}`;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** Returns a number of bytes with three digits and a decimal unit. */
export function bytes(number) {
  let value = Number(number);
  if (value < 1000) return value === 1 ? '1 byte' : `${value} bytes`;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toPrecision(3).replace(/\.0+$/, '')} ${UNITS[unit]}`;
}

/** Returns a value of a field with up to `digits` significant digits, without noise. */
export function value(number, digits = 5) {
  if (typeof number === 'bigint') return count(number.toString());
  if (typeof number !== 'number') return line(number, 80);
  if (Number.isNaN(number)) return 'no data';
  if (!Number.isFinite(number)) return number > 0 ? '∞' : '−∞';
  if (number === 0) return '0';
  const size = Math.abs(number);
  if (size >= 1e7 || size < 1e-4) return minus(number.toExponential(Math.max(0, digits - 2)).replace(/\.?0+e/, 'e').replace('e+', 'e'));
  const text = Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(Math.max(digits, Math.ceil(Math.log10(size))))));
  return minus(text);
}

function minus(text) {
  return text.replaceAll('-', '−');
}

/** Returns an RFC 3339 time as a date and a time to the minute, in UTC. */
export function time(text) {
  const found = /^(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d)/.exec(text ?? '');
  return found ? `${found[1]} ${found[2]}` : line(text, 40);
}

const AGO = [[31_557_600, 'year'], [2_629_800, 'month'], [86_400, 'day'], [3600, 'hour'], [60, 'minute']];

/** Returns how long ago a time was, in one unit. */
export function ago(text, now = Date.now()) {
  const seconds = (now - Date.parse(text)) / 1000;
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 0) return 'in the future';
  for (const [length, name] of AGO) {
    const number = Math.floor(seconds / length);
    if (number >= 1) return `${counted(number, name)} ago`;
  }
  return 'just now';
}

/** Returns a shape: `54 × 18 × 432`, `scalar`. */
export function shape(numbers) {
  return numbers.length ? numbers.map(count).join(' × ') : 'scalar';
}
