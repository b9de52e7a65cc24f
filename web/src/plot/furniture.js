// Axes, graticule and colour bar of a field.
import { spelled } from './axis.js';
import { table } from './colours.js';
import { degreeTicks, ticks } from './limits.js';
import { line, value } from '../text.js';

const BAR = 14;

/** Axes, ticks and, on maps, a light graticule. */
export function furniture(context, canvas, place, cells) {
  const style = getComputedStyle(canvas);
  const [ink, faint, grid] = ['--muted', '--line-strong', '--graticule'].map((it) => style.getPropertyValue(it));
  context.font = `12px ${style.fontFamily}`;
  const { left, top, w, h } = place;
  const across = Math.max(2, Math.floor(w / 96));
  const down = Math.max(2, Math.floor(h / 54));
  const { box } = place;
  const xTicks = cells ? degreeTicks(box.west, box.east, across).map((at) => ({ part: (at - box.west) / (box.east - box.west), text: spelled(at, 'longitude') })) : place.xAxis.ticks(across);
  const yTicks = cells ? degreeTicks(box.south, box.north, down).map((at) => ({ part: (box.north - at) / (box.north - box.south), text: spelled(at, 'latitude') })) : place.yAxis.ticks(down);
  const isGlobe = cells || (place.xAxis.role === 'longitude' && place.yAxis.role === 'latitude');
  context.lineWidth = 1;
  const draw = (x1, y1, x2, y2, colour) => {
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
    context.stroke();
  };
  context.fillStyle = ink;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  let free = -Infinity;
  for (const { part, text } of xTicks) {
    if (part < -1e-9 || part > 1 + 1e-9) continue;
    const x = left + part * w;
    if (isGlobe) draw(x, top, x, top + h, grid);
    draw(x, top + h, x, top + h + 4, faint);
    const half = context.measureText(text).width / 2;
    if (x - half < free) continue;
    context.fillText(text, x, top + h + 8);
    free = x + half + 10;
  }
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const { part, text } of yTicks) {
    if (part < -1e-9 || part > 1 + 1e-9) continue;
    const y = top + part * h;
    if (isGlobe) draw(left, y, left + w, y, grid);
    draw(left - 5, y, left - 1, y, faint);
    context.fillText(text, left - 8, y);
  }
  context.strokeStyle = faint;
  context.strokeRect(left - 0.5, top - 0.5, w + 1, h + 1);
  context.textBaseline = 'alphabetic';
  if (!cells && place.xAxis.title) {
    context.textAlign = 'center';
    context.fillText(place.xAxis.title, left + w / 2, top + h + 36, w);
  }
  if (!cells && place.yAxis.title) {
    context.save();
    context.translate(12, top + h / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(place.yAxis.title, 0, 0, h);
    context.restore();
  }
}

/** The colours, with the numbers that they stand for. */
export function colourBar(context, canvas, { left, top, w, h }, { colours, low, high, unit, decoding }) {
  const style = getComputedStyle(canvas);
  const map = table(colours);
  const x = left + w + 20;
  const ramp = context.createLinearGradient(0, top + h, 0, top);
  for (let step = 0; step <= 32; step += 1) {
    const at = Math.round((step / 32) * 255) * 3;
    ramp.addColorStop(step / 32, `rgb(${map[at]},${map[at + 1]},${map[at + 2]})`);
  }
  context.fillStyle = ramp;
  context.fillRect(x, top, BAR, h);
  context.strokeStyle = style.getPropertyValue('--line-strong');
  context.strokeRect(x - 0.5, top - 0.5, BAR + 1, h + 1);
  context.fillStyle = style.getPropertyValue('--muted');
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  for (const at of ticks(low, high, Math.max(2, Math.floor(h / 48)))) {
    const y = top + h - ((at - low) / (high - low)) * h;
    context.fillRect(x + BAR, Math.round(y), 4, 1);
    context.fillText(decoding.time ? decoding.text(at) : value(at), x + BAR + 8, y, 66);
  }
  if (unit) {
    context.textBaseline = 'alphabetic';
    context.fillText(line(unit, 24), x, top - 8, 90);
  }
}
