// Times of CF: `days since 1950-01-01`, in the calendars of the convention.

/** Seconds of a unit. Months and years are those of UDUNITS: parts of a mean tropical year. */
const YEAR = 31_556_925.9747;
const SECONDS = {
  nanosecond: 1e-9, ns: 1e-9, microsecond: 1e-6, us: 1e-6, millisecond: 1e-3, ms: 1e-3, msec: 1e-3, millisec: 1e-3,
  second: 1, sec: 1, s: 1, minute: 60, min: 60, hour: 3600, hr: 3600, h: 3600, day: 86_400, d: 86_400,
  week: 604_800, month: YEAR / 12, year: YEAR, yr: YEAR, common_year: 31_536_000,
};

const MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function julianDay(year, month, day, gregorian) {
  const before = Math.floor((14 - month) / 12);
  const y = year + 4800 - before;
  const m = month + 12 * before - 3;
  const days = day + Math.floor((153 * m + 2) / 5) + 365 * y + Math.floor(y / 4);
  return gregorian ? days - Math.floor(y / 100) + Math.floor(y / 400) - 32_045 : days - 32_083;
}

function civil(julian, gregorian) {
  let b = 0;
  let c = julian + 32_082;
  if (gregorian) {
    const a = julian + 32_044;
    b = Math.floor((4 * a + 3) / 146_097);
    c = a - Math.floor((146_097 * b) / 4);
  }
  const d = Math.floor((4 * c + 3) / 1461);
  const e = c - Math.floor((1461 * d) / 4);
  const m = Math.floor((5 * e + 2) / 153);
  const day = e - Math.floor((153 * m + 2) / 5) + 1;
  return [100 * b + d - 4800 + Math.floor(m / 10), m + 3 - 12 * Math.floor(m / 10), day];
}

/** The first day of the Gregorian calendar in the mixed one. */
const REFORM = 2_299_161;

function fixed(lengths) {
  const year = lengths.reduce((a, b) => a + b);
  return {
    toDay: (y, m, d) => y * year + lengths.slice(0, m - 1).reduce((a, b) => a + b, 0) + d - 1,
    toDate(day) {
      const y = Math.floor(day / year);
      let left = day - y * year;
      let month = 0;
      while (left >= lengths[month]) left -= lengths[month++];
      return [y, month + 1, left + 1];
    },
  };
}

const gregorian = { toDay: (y, m, d) => julianDay(y, m, d, true), toDate: (day) => civil(day, true) };
const julian = { toDay: (y, m, d) => julianDay(y, m, d, false), toDate: (day) => civil(day, false) };
const mixed = {
  toDay(y, m, d) {
    const day = julianDay(y, m, d, true);
    return day >= REFORM ? day : julianDay(y, m, d, false);
  },
  toDate: (day) => civil(day, day >= REFORM),
};
const noleap = fixed(MONTHS);
const allLeap = fixed(MONTHS.map((days, month) => (month === 1 ? 29 : days)));
const thirties = fixed(MONTHS.map(() => 30));
const CALENDARS = {
  standard: mixed, gregorian: mixed, proleptic_gregorian: gregorian, julian,
  noleap, '365_day': noleap, all_leap: allLeap, '366_day': allLeap, '360_day': thirties,
};

const SINCE = /^\s*([a-z_]+)\s+since\s+([+-]?\d{1,6})-(\d{1,2})(?:-(\d{1,2}))?(?:[T\s]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*$/i;

function two(number) {
  return String(number).padStart(2, '0');
}

/** Returns `null` if the units are none of time, else a decoder from a number to its text. */
export function timeDecoder(units, calendar = 'standard') {
  const found = typeof units === 'string' ? SINCE.exec(units) : null;
  const rules = CALENDARS[String(calendar ?? 'standard').toLowerCase()];
  if (!found || !rules) return null;
  const unit = found[1].toLowerCase();
  const length = SECONDS[unit] ?? SECONDS[unit.replace(/s$/, '')];
  if (!length) return null;
  const [y, m, d, hour, minute, second] = found.slice(2, 8).map((it) => Number(it ?? 0));
  if (m < 1 || m > 12) return null;
  const zone = /([+-])(\d{1,2}):?(\d{2})?/.exec(found[8] ?? '');
  const shift = zone ? Number(`${zone[1]}1`) * (Number(zone[2]) * 60 + Number(zone[3] ?? 0)) : 0;
  const first = rules.toDay(y, m, d || 1);
  const start = hour * 3600 + (minute - shift) * 60 + second;
  return (number) => {
    if (!Number.isFinite(number)) return 'no time';
    const total = start + number * length;
    if (Math.abs(total) > 1e13) return String(number);
    let days = Math.floor(total / 86_400);
    let rest = Math.round(total - days * 86_400);
    if (rest >= 86_400) {
      days += 1;
      rest = 0;
    }
    const [year, month, day] = rules.toDate(first + days);
    const date = `${year < 0 ? '−' : ''}${String(Math.abs(year)).padStart(4, '0')}-${two(month)}-${two(day)}`;
    if (rest === 0) return date;
    const clock = `${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}`;
    return rest % 60 ? `${date} ${clock}:${two(rest % 60)}` : `${date} ${clock}`;
  };
}
