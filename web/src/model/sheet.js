// The layout of a chunk grid of any rank on a plane: panels of the last two dimensions, side by side, like a contact sheet.

/** Cells along each dimension of a grid that is divided into cells. */
export function cellCounts(grid, cell) {
  return grid.map((length, at) => Math.max(0, Math.ceil(length / Math.max(1, cell[at] ?? 1))));
}

const LARGEST = 30;
const READABLE = 4;

function gapOf(size) {
  return Math.max(2, Math.round(size / 3));
}

export class Sheet {
  /** Lays out `counts` cells per dimension in `width` pixels and about `height`. */
  constructor(counts, width, height) {
    const total = counts.reduce((a, b) => a * b, 1);
    const rank = counts.length;
    let [rows, columns] = rank < 2 ? [1, 1] : [counts[rank - 2], counts[rank - 1]];
    const isSequence = rows * columns === 1;
    if (isSequence) [rows, columns] = [1, 1];
    const panels = total / (rows * columns);
    Object.assign(this, { counts, total, rows, columns, panels });
    // The largest cells with which all panels fit; a plain sequence has no gaps.
    const fits = (size) => {
      const gap = isSequence ? 0 : gapOf(size);
      const across = Math.min(panels, Math.floor((width + gap) / (columns * size + gap)));
      return across >= 1 && Math.ceil(panels / across) * (rows * size + gap) <= height ? { size, gap, across } : null;
    };
    let found = null;
    for (let size = LARGEST; size >= 1 && !found; size -= 1) found = fits(size);
    // Cells that cannot be told apart are made larger, and the map scrolls.
    if (!found || found.size < READABLE) {
      const gap = isSequence ? 0 : 2;
      const size = Math.max(1, Math.min(READABLE, Math.floor(width / columns)));
      found = { size, gap, across: Math.max(1, Math.min(panels, Math.floor((width + gap) / (columns * size + gap)))) };
    }
    Object.assign(this, found);
    this.pitch = [columns * this.size + this.gap, rows * this.size + this.gap];
    this.width = Math.min(panels, this.across) * this.pitch[0] - this.gap;
    this.height = Math.ceil(panels / this.across) * this.pitch[1] - this.gap;
  }

  /** Returns the left and the top of a cell, by its place in C order. */
  place(flat) {
    const panel = Math.floor(flat / (this.rows * this.columns));
    const inner = flat - panel * this.rows * this.columns;
    return [
      (panel % this.across) * this.pitch[0] + (inner % this.columns) * this.size,
      Math.floor(panel / this.across) * this.pitch[1] + Math.floor(inner / this.columns) * this.size,
    ];
  }

  /** Returns the cell at a pixel, or -1. */
  under(x, y) {
    if (x < 0 || y < 0) return -1;
    const [panelX, panelY] = [Math.floor(x / this.pitch[0]), Math.floor(y / this.pitch[1])];
    const [inX, inY] = [Math.floor((x - panelX * this.pitch[0]) / this.size), Math.floor((y - panelY * this.pitch[1]) / this.size)];
    if (panelX >= this.across || inX >= this.columns || inY >= this.rows) return -1;
    const panel = panelY * this.across + panelX;
    return panel < this.panels ? panel * this.rows * this.columns + inY * this.columns + inX : -1;
  }

  /** Returns the cell that is next on the screen in a direction, or the same at an edge. */
  next(flat, dx, dy) {
    const [x, y] = this.place(flat);
    const half = this.size / 2;
    for (const reach of [this.size, this.size + this.gap]) {
      const found = this.under(x + half + dx * reach, y + half + dy * reach);
      if (found >= 0) return found;
    }
    if (dx) return Math.max(0, Math.min(this.total - 1, flat + dx));
    return flat;
  }

  index(flat) {
    const index = new Array(this.counts.length);
    let left = flat;
    for (let at = this.counts.length - 1; at >= 0; at -= 1) {
      index[at] = left % this.counts[at];
      left = Math.floor(left / this.counts[at]);
    }
    return index;
  }

  flat(index) {
    return index.reduce((sum, it, at) => sum * this.counts[at] + it, 0);
  }
}

/** Returns the place in C order of each cell of an answer, whose indices are one flat list. */
export function flats(counts, indices) {
  const rank = counts.length;
  if (!rank) return [0];
  const found = new Array(indices.length / rank);
  for (let at = 0; at < found.length; at += 1) {
    let flat = 0;
    for (let dimension = 0; dimension < rank; dimension += 1) flat = flat * counts[dimension] + Number(indices[at * rank + dimension]);
    found[at] = flat;
  }
  return found;
}

/** How many chunks a cell has: cells at the end of a dimension may have fewer. */
export function capacity(index, grid, cell) {
  return index.reduce((product, it, at) => product * Math.min(cell[at], grid[at] - it * cell[at]), 1);
}
