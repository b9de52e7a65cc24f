// Limits of a colour map, and numbers that describe a field.

const SAMPLES = 200_000;

/** Returns `{ low, high, least, most, mean, valid, none }` of numbers: `low` and `high` are the 2nd and the 98th percentile. */
export function described(numbers) {
  let [least, most, sum, valid] = [Infinity, -Infinity, 0, 0];
  const step = Math.max(1, Math.ceil(numbers.length / SAMPLES));
  const sample = [];
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at];
    if (!Number.isFinite(number)) continue;
    if (number < least) least = number;
    if (number > most) most = number;
    sum += number;
    valid += 1;
    if (at % step === 0) sample.push(number);
  }
  const none = numbers.length - valid;
  if (!valid) return { low: 0, high: 1, least: NaN, most: NaN, mean: NaN, valid, none };
  const sorted = Float64Array.from(sample.length ? sample : [least, most]).sort();
  const place = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  let [low, high] = [place(0.02), place(0.98)];
  if (low === high) [low, high] = [least, most];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  return { low, high, least, most, mean: sum / valid, valid, none };
}

/** Returns limits of equal size around zero. */
export function balanced({ low, high }) {
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return { low: -size, high: size };
}

/** Returns round numbers inside limits, about as many as asked for. */
export function ticks(low, high, about = 6) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? 10 * power;
  return stepped(low, high, step);
}

/** Returns round degrees inside limits. */
export function degreeTicks(low, high, about = 6) {
  const rough = (high - low) / Math.max(1, about);
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90].find((it) => it >= rough) ?? 90;
  return stepped(low, high, step);
}

function stepped(low, high, step) {
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9 && found.length < 50; at += 1) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}
