// A small picture of an array's first slice, for the cards of a group. It is left out where it would cost much, or cannot be drawn.
import { html, useAnswer, useDark, useLayoutEffect, useRef } from './base.js';
import { askOnce, dataAddress } from '../api.js';
import { read } from '../data/client.js';
import { Axis } from '../plot/axis.js';
import { described } from '../plot/limits.js';
import { paint, themeOf } from '../plot/paint.js';
import { Decoding, parsed } from '../model/document.js';
import { coordinatesOf } from '../model/coordinates.js';
import { cost, pieces, planned, selection, strides, unwritten } from '../model/slice.js';

/** Bytes of chunks that a picture may cost. */
const AFFORDABLE = 8 << 20;
/** And chunks. */
const FEW = 16;
const [WIDTH, HEIGHT] = [480, 240];

/** Returns whether a picture is worth its reads, from what a list of nodes says. */
export function isAffordable({ shape, chunk_shape: chunks, data_type: type }) {
  if (shape.filter((length) => length > 2).length < 2) return false;
  const plan = planned({ shape, chunks, type, roles: shape.map(() => null) }, { x: '', y: '', at: '', region: '' });
  const array = { shape, chunks, type, x: plan.x, y: plan.y };
  return plan.isWhole && cost(array, plan.window) <= AFFORDABLE && pieces(array, plan.window) <= FEW;
}

async function picture(repository, snapshot, path, signal) {
  const node = await askOnce([repository.name, 'node', snapshot], { path });
  const document = parsed(node.document);
  const { dims, curved } = await coordinatesOf(repository, snapshot, node, document, signal);
  const plan = planned({ shape: node.shape, chunks: node.chunk_shape, type: node.data_type, roles: dims.map((it) => it.role) }, { x: '', y: '', at: '', region: '' });
  const { data, missing } = await read(dataAddress(repository, snapshot, path), selection(plan), signal);
  const decoding = new Decoding(document);
  // Rows of a curved grid that run from south to north are drawn from the bottom.
  const isCurved = curved && curved.dims[0] === plan.y && curved.latitudes[0] < curved.latitudes[curved.latitudes.length - 1];
  return { plan, dims, isCurved, numbers: decoding.numbers(data), mask: missing.length ? unwritten(missing, plan, node.chunk_shape) : null };
}

export function Thumbnail({ repository, snapshot, path }) {
  const canvas = useRef();
  const dark = useDark();
  const drawn = useAnswer(`picture ${snapshot} ${path}`, (signal) => picture(repository, snapshot, path, signal));
  useLayoutEffect(() => {
    if (!drawn.value) return;
    const { plan, dims, isCurved, numbers, mask } = drawn.value;
    const [y0, y1, x0, x1] = plan.window;
    const across = new Axis({ ...dims[plan.x] }).window(x0, x1).positions(WIDTH);
    const down = new Axis({ ...dims[plan.y], isVertical: true }).window(y0, y1).positions(HEIGHT);
    if (isCurved) down.reverse();
    const step = strides(plan);
    const { low, high } = described(numbers);
    const image = new ImageData(WIDTH, HEIGHT);
    paint(image, { numbers, at: (x, y) => down[y] * step.down + across[x] * step.right, low, high, colours: 'viridis', unwritten: mask, theme: themeOf(canvas.current) });
    canvas.current.getContext('2d').putImageData(image, 0, 0);
  }, [drawn.value, dark]);
  if (drawn.error) return null;
  return html`<canvas ref=${canvas} class=${drawn.value ? 'thumbnail drawn' : 'thumbnail'} width=${WIDTH} height=${HEIGHT} aria-hidden="true"></canvas>`;
}
