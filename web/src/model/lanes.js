// The lanes of a history graph, from commits in the order of the list: newest first.

/** Takes commits page by page and gives each its row: the lane of its dot, and lines above and below the dot. */
export class Lanes {
  /** The commit that each lane leads to; `null` is a free lane. */
  #waiting = [];

  /** Returns `{ lane, above, below, width }`; the lines are pairs of lanes, at the edge of the row and in its middle or the reverse. */
  row({ id, parent, merged = [] }) {
    const before = [...this.#waiting];
    let lanes = before.flatMap((it, lane) => (it === id ? [lane] : []));
    const lane = lanes.length ? lanes[0] : this.#free();
    const above = before.flatMap((it, from) => (it === null ? [] : [[from, it === id ? lane : from]]));
    for (const other of lanes) this.#waiting[other] = null;
    const below = this.#waiting.flatMap((it, from) => (it === null ? [] : [[from, from]]));
    this.#waiting[lane] = null;
    if (parent) {
      this.#waiting[lane] = parent;
      below.push([lane, lane]);
    }
    for (const other of merged) {
      if (other === parent) continue;
      let to = this.#waiting.indexOf(other);
      if (to < 0) {
        to = this.#free();
        this.#waiting[to] = other;
      }
      below.push([lane, to]);
    }
    while (this.#waiting.length && this.#waiting.at(-1) === null) this.#waiting.pop();
    return { lane, above, below, width: Math.max(before.length, this.#waiting.length, lane + 1) };
  }

  #free() {
    const found = this.#waiting.indexOf(null);
    if (found >= 0) return found;
    this.#waiting.push(null);
    return this.#waiting.length - 1;
  }
}

const RUN = 14;
const HEAD = 5;
const TAIL = 3;

/** Whether a row has nothing but straight lines. */
function isPlain({ commit, lines }) {
  const straight = (pairs) => pairs.every(([from, to]) => from === to);
  return !commit.refs.length && !commit.merged?.length && straight(lines.above) && straight(lines.below) && lines.above.length === lines.below.length;
}

/**
 * Folds long runs of rows that show nothing but one commit after another. `open` has the ids of the commits whose runs are not
 * folded. Returns rows, of which those with `run` stand for several.
 */
export function folded(rows, open) {
  const found = [];
  let at = 0;
  while (at < rows.length) {
    let end = at;
    while (end < rows.length && isPlain(rows[end])) end += 1;
    if (end - at >= RUN && !open.has(rows[at].commit.id)) {
      const hidden = rows.slice(at + HEAD, end - TAIL);
      found.push(...rows.slice(at, at + HEAD), { run: hidden, first: rows[at].commit.id, lines: hidden[0].lines }, ...rows.slice(end - TAIL, end));
      at = end;
    } else {
      const next = Math.max(end, at + 1);
      found.push(...rows.slice(at, next));
      at = next;
    }
  }
  return found;
}
