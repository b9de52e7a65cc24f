// Colour maps as tables of a few colours, between which the map is linear. The sequential ones grow lighter evenly, also for
// people who see no red or no green; `difference` is lightest at zero.

export const MAPS = {
  viridis: '440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725',
  cividis: '00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838',
  magma: '000004 180f3d 440f76 721f81 9e2f7f cd4071 f1605d fd9668 feca8d fcfdbf',
  inferno: '000004 1b0c41 4a0c6b 781c6d a52c60 cf4446 ed6925 fb9b06 f7d13d fcffa4',
  ice: '06121f 0d2a45 14466b 1b658f 3286b0 5aa6c8 8cc4da bbdde8 e3f1f5 fbfefe',
  grey: '0a0a0a fafafa',
  difference: '08305c 1b62a0 5fa2cd b5d5e8 f4f4f2 f4cab3 dd8763 b4402f 65101f',
};

const tables = new Map();

/** Returns 256 colours of a map as red, green, blue. */
export function table(name) {
  const known = tables.get(name);
  if (known) return known;
  const stops = (MAPS[name] ?? MAPS.viridis).replaceAll(' ', '').match(/.{6}/g).map((it) => [0, 2, 4].map((at) => parseInt(it.slice(at, at + 2), 16)));
  const made = new Uint8Array(256 * 3);
  for (let step = 0; step < 256; step += 1) {
    const place = (step / 255) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    for (let part = 0; part < 3; part += 1) {
      made[step * 3 + part] = Math.round(stops[below][part] + (place - below) * (stops[below + 1][part] - stops[below][part]));
    }
  }
  tables.set(name, made);
  return made;
}
