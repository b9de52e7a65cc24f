// Draws numbers as pixels. Nothing here knows of repositories.
import { table } from './colours.js';

/**
 * Fills an image with a field. `at(x, y)` gives the element of a pixel, or -1 outside the field. No data is hatched, and chunks
 * that were never written are dotted, so that neither looks like a value.
 */
export function paint(image, { numbers, at, low, high, colours, unwritten = null, theme, scale = 1 }) {
  const { width, height, data } = image;
  const map = table(colours);
  const factor = 255 / (high - low);
  const period = Math.round(7 * scale);
  const thick = Math.max(1, Math.round(scale));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const pixel = (y * width + x) * 4;
      const element = at(x, y);
      if (element < 0) {
        put(data, pixel, theme.outside);
        continue;
      }
      if (unwritten && unwritten[element]) {
        const isDot = x % period < thick * 2 && y % period < thick * 2;
        put(data, pixel, isDot ? theme.mark : theme.empty);
        continue;
      }
      const number = numbers[element];
      // Infinities have the colours of the ends.
      if (Number.isNaN(number)) {
        put(data, pixel, (x + y) % period < thick ? theme.mark : theme.empty);
        continue;
      }
      let step = (number - low) * factor;
      step = step <= 0 ? 0 : step >= 255 ? 255 : Math.round(step);
      data[pixel] = map[step * 3];
      data[pixel + 1] = map[step * 3 + 1];
      data[pixel + 2] = map[step * 3 + 2];
      data[pixel + 3] = 255;
    }
  }
}

function put(data, pixel, colour) {
  data[pixel] = colour[0];
  data[pixel + 1] = colour[1];
  data[pixel + 2] = colour[2];
  data[pixel + 3] = 255;
}

/** Returns the colours of the theme as red, green, blue, read from the style of an element. */
export function themeOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => {
    const found = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(found.slice(at, at + 2), 16));
  };
  return { outside: read('--plot-outside'), empty: read('--plot-empty'), mark: read('--plot-mark') };
}

/** Fits a canvas to its size on the screen, and returns the context, scaled to CSS pixels, or `null` if it has no size. */
export function fitted(canvas, width, height) {
  if (width < 1 || height < 1) return null;
  const scale = Math.min(3, devicePixelRatio || 1);
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, scale };
}
