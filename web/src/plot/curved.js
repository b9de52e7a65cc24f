// Fields on curved grids: latitude and longitude of each element are arrays of two dimensions.

/**
 * Returns, for each pixel of a map, the element whose cell covers it, or -1. A cell reaches half way to its neighbours; one that
 * would be wider than `WIDEST` degrees lies across the seam of the map, and is left out.
 */
const WIDEST = 30;

export function cellsOf({ latitudes, longitudes, rows, columns, box, width, height }) {
  const cells = new Int32Array(width * height).fill(-1);
  const scaleX = width / (box.east - box.west);
  const scaleY = height / (box.north - box.south);
  const xs = new Float32Array(4);
  const ys = new Float32Array(4);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const at = row * columns + column;
      const [latitude, longitude] = [latitudes[at], longitudes[at]];
      if (!Number.isFinite(latitude) || !Number.isFinite(longitude) || Math.abs(latitude) > 90.001) continue;
      corners(latitudes, longitudes, rows, columns, row, column, at, xs, ys);
      let [left, right] = [Math.min(...xs), Math.max(...xs)];
      const [south, north] = [Math.min(...ys), Math.max(...ys)];
      if (right - left > WIDEST || north - south > WIDEST) continue;
      const turn = Math.ceil((box.west - right) / 360) * 360;
      for (let shift = turn; left + shift < box.east; shift += 360) {
        fillQuad(cells, at, xs, ys, shift, { box, scaleX, scaleY, width, height });
      }
    }
  }
  return cells;
}

/** The four corners of a cell, halfway to its diagonal neighbours. Longitudes are those nearest to the centre. */
function corners(latitudes, longitudes, rows, columns, row, column, at, xs, ys) {
  const [y, x] = [latitudes[at], longitudes[at]];
  const sides = [[-1, -1], [-1, 1], [1, 1], [1, -1]];
  for (let corner = 0; corner < 4; corner += 1) {
    const [down, right] = sides[corner];
    let [sumY, sumX] = [0, 0];
    for (const [dr, dc] of [[down, 0], [0, right]]) {
      let [r, c, sign] = [row + dr, column + dc, 1];
      if (r < 0 || r >= rows || c < 0 || c >= columns) [r, c, sign] = [row - dr, column - dc, -1];
      if (r < 0 || r >= rows || c < 0 || c >= columns) continue;
      const other = r * columns + c;
      let step = longitudes[other] - x;
      step -= Math.round(step / 360) * 360;
      sumY += (sign * (latitudes[other] - y)) / 2;
      sumX += (sign * step) / 2;
    }
    // A little more than the cell, so that no seams stay between cells.
    xs[corner] = x + sumX * 1.02;
    ys[corner] = y + sumY * 1.02;
  }
}

function fillQuad(cells, at, xs, ys, shift, { box, scaleX, scaleY, width, height }) {
  const px = [0, 1, 2, 3].map((corner) => (xs[corner] + shift - box.west) * scaleX);
  const py = [0, 1, 2, 3].map((corner) => (box.north - ys[corner]) * scaleY);
  const top = Math.max(0, Math.floor(Math.min(...py)));
  const bottom = Math.min(height - 1, Math.ceil(Math.max(...py)));
  for (let y = top; y <= bottom; y += 1) {
    const line = y + 0.5;
    let [from, to] = [Infinity, -Infinity];
    for (let corner = 0; corner < 4; corner += 1) {
      const next = (corner + 1) & 3;
      const [y1, y2] = [py[corner], py[next]];
      if (Math.min(y1, y2) > line || Math.max(y1, y2) < line || y1 === y2) continue;
      const x = px[corner] + ((line - y1) / (y2 - y1)) * (px[next] - px[corner]);
      if (x < from) from = x;
      if (x > to) to = x;
    }
    const left = Math.max(0, Math.floor(from));
    const right = Math.min(width - 1, Math.ceil(to) - 1);
    for (let x = left; x <= right; x += 1) cells[y * width + x] = at;
  }
}

/** Returns the box around all elements that have data, in degrees; the whole width of the globe where it nearly is. */
export function boxOf(latitudes, longitudes) {
  let [south, north, west, east] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < latitudes.length; at += 1) {
    const [y, x] = [latitudes[at], longitudes[at]];
    if (!Number.isFinite(y) || !Number.isFinite(x) || Math.abs(y) > 90.001) continue;
    south = Math.min(south, y);
    north = Math.max(north, y);
    west = Math.min(west, x);
    east = Math.max(east, x);
  }
  if (!(north > south) || !(east > west)) return null;
  if (east - west > 330) [west, east] = west >= 0 ? [0, 360] : [-180, 180];
  return { south: Math.max(-90, south - 0.5), north: Math.min(90, north + 0.5), west, east };
}
