// The members of two documents that differ, by their paths.

function spelled(value) {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const DEEPEST = 6;

/** Returns `{ name, before, after }` for each member that differs, as text; `undefined` where a document has none. */
export function difference(before, after, prefix = '', depth = 0) {
  const found = [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [had, has] = [Object.hasOwn(before, name), Object.hasOwn(after, name)];
    const [old, now] = [had ? before[name] : undefined, has ? after[name] : undefined];
    const path = prefix ? `${prefix}.${name}` : name;
    if (had && has && JSON.stringify(old) === JSON.stringify(now)) continue;
    const nested = (!had || isObject(old)) && (!has || isObject(now)) && depth < DEEPEST && (name === 'attributes' || (had && has));
    if (nested) found.push(...difference(old ?? {}, now ?? {}, path, depth + 1));
    else found.push({ name: path, before: had ? spelled(old) : undefined, after: has ? spelled(now) : undefined });
  }
  return found;
}
