// The repositories of the test double: an ocean, one with hostile text, one of 10,000 arrays, one of 10,000 commits.
import { isLand, temperature } from './field.mjs';
import { MockArray, MockRepository, idOf, straight } from './repository.mjs';

const LAT = Array.from({ length: 90 }, (_, at) => -89 + at * 2);
const LON = Array.from({ length: 180 }, (_, at) => -179 + at * 2);
const LAND = LAT.map((lat) => LON.map((lon) => isLand(lon, lat)));

function coordinate(values, attributes, type = 'float64', name = '') {
  return new MockArray({ shape: [values.length], chunks: [values.length], type, dims: [name], attributes, fill: type === 'int64' ? 0 : 'NaN', value: ([at]) => values[at], kind: () => 'inline', since: 1 });
}

/** From this commit on, the bias of the southern ocean is corrected in one block of months after the other. */
const CORRECTED = 14;

function ocean() {
  const messages = {
    1: 'Create the arrays\n\nGrid of 2°, monthly means from January 1981.', 12: 'Add thetao on depth levels', 13: 'Metadata: long names and units',
    14: 'Correct the bias south of 40° S', 30: 'Add the curved grid of the model', 48: 'Reprocess 1984',
  };
  const commits = straight('ocean', 60, (at) => messages[at] ?? (at < 12 ? `Write months ${6 * (at - 3) + 1}–${6 * (at - 2)}` : `Correct the bias, block ${((at - CORRECTED) % 9) + 1} of 9`), Date.UTC(2025, 1, 3, 8));
  // A branch that is merged, and one that is not.
  const branch = [];
  for (let at = 0; at < 5; at += 1) {
    branch.push({ id: idOf(`merged ${at}`), parent: at ? branch[at - 1].id : commits[40].id, time: commits[40].time + (at * 8 + 3) * 3_600_000, message: `Try a finer mask, step ${at + 1}`, metadata: { author: 'J. Lindqvist' }, data: 40 });
  }
  commits[47].metadata = { ...commits[47].metadata, merged: branch.at(-1).id };
  commits[47].merged = [branch.at(-1).id];
  commits[47].message = 'Merge the finer mask';
  const open = [];
  for (let at = 0; at < 3; at += 1) {
    open.push({ id: idOf(`open ${at}`), parent: at ? open[at - 1].id : commits[55].id, time: commits[55].time + (at * 5 + 2) * 3_600_000, message: `Experiment: colder start, step ${at + 1}`, metadata: { author: 'R. Ahumada' }, data: 55 });
  }
  const time = (count) => Array.from({ length: count }, (_, at) => BigInt(Math.round(at * 30.4375)));
  const block = ([t], version) => (version >= 3 + t && version >= 3 ? 3 + t : -1);
  const sst = new MockArray({
    shape: [54, 90, 180], chunks: [6, 45, 90], dims: ['time', 'lat', 'lon'], codec: 'zstd', since: 1,
    attributes: (version) => (version < 13 ? { units: 'degC', coordinates: 'time lat lon' } : { long_name: 'Sea-surface temperature', standard_name: 'sea_surface_temperature', units: '°C', cell_methods: 'time: mean', valid_range: [-5, 45], comment: 'Monthly means. See https://example.org/sst?product=monthly for the method.', source_files: 648, processing_level: 'L4' }),
    value: ([t, y, x], version) => {
      if (LAND[y][x]) return NaN;
      const blockOf = Math.floor(t / 6);
      const last = lastCorrection(blockOf, version);
      const bias = last && LAT[y] < -40 ? -0.35 * ((-LAT[y] - 40) / 50) * (1 + 0.15 * last) * (1 + 0.3 * Math.sin(x / 9)) : 0;
      return temperature(LON[x], LAT[y], t) + bias;
    },
    // Corrections touch the southern chunks alone.
    written: (chunk, version) => {
      const first = block(chunk, version);
      if (first < 0 || chunk[1] === 1) return first;
      const times = lastCorrection(chunk[0], version);
      return times ? CORRECTED + chunk[0] + (times - 1) * 9 : first;
    },
  });
  const anomaly = new MockArray({
    shape: [54, 90, 180], chunks: [6, 90, 180], type: 'int16', dims: ['time', 'lat', 'lon'], codec: 'blosc', fill: 0, since: 1,
    attributes: { long_name: 'Anomaly of sea-surface temperature', units: 'K', scale_factor: 0.01, add_offset: 0, _FillValue: -32768 },
    value: ([t, y, x]) => (LAND[y][x] ? -32768 : Math.round(100 * (temperature(LON[x], LAT[y], t) - temperature(LON[x], LAT[y], t + 5)) * 0.4)),
    // The last two blocks were never written, and the next to last is in files of others.
    written: ([t]) => (t > 6 ? -1 : 5),
    kind: ([t]) => (t === 6 ? 'virtual' : 'native'),
  });
  const thetao = new MockArray({
    shape: [12, 8, 90, 180], chunks: [1, 4, 90, 90], dims: ['month', 'depth', 'lat', 'lon'], codec: 'gzip', since: 12,
    attributes: { long_name: 'Potential temperature', standard_name: 'sea_water_potential_temperature', units: '°C' },
    value: ([t, z, y, x]) => (LAND[y][x] || (z > 5 && (x * 7 + y * 3) % 11 === 0) ? NaN : 2 + (temperature(LON[x], LAT[y], t) - 2) * Math.exp(-z / 3.2)),
    written: () => 12, kind: ([t]) => (t % 4 === 3 ? 'virtual' : 'native'),
  });
  const rows = 70;
  const columns = 100;
  const curvedAt = (y, x) => {
    const turn = (y / rows) * 0.9;
    return [-78 + (y / (rows - 1)) * 164 + 3 * Math.sin((x / columns) * 2 * Math.PI) * turn, -180 + ((x + 0.5) / columns) * 360 + 14 * Math.sin((y / rows) * 3 + (x / columns) * 2 * Math.PI) * turn];
  };
  const curved = (which, name) => new MockArray({ shape: [rows, columns], chunks: [rows, columns], type: 'float64', dims: ['y', 'x'], since: 30, attributes: { units: which ? 'degrees_east' : 'degrees_north', long_name: name }, value: ([y, x]) => curvedAt(y, x)[which] });
  const nodes = {
    '/time': coordinate(time(54), { units: 'days since 1981-01-16', calendar: 'standard', standard_name: 'time', axis: 'T' }, 'int64', 'time'),
    '/lat': coordinate(LAT, { units: 'degrees_north', standard_name: 'latitude' }, 'float64', 'lat'),
    '/lon': coordinate(LON, { units: 'degrees_east', standard_name: 'longitude' }, 'float64', 'lon'),
    '/sst': sst,
    '/sst_anomaly': anomaly,
    '/ocean/thetao': thetao,
    '/ocean/depth': coordinate([5, 15, 30, 55, 100, 180, 320, 600], { units: 'm', positive: 'down', long_name: 'Depth' }, 'float64', 'depth'),
    '/ocean/month': coordinate(time(12), { units: 'days since 2001-01-16', calendar: 'noleap' }, 'int64', 'month'),
    '/model/tos': new MockArray({ shape: [3, rows, columns], chunks: [1, rows, 50], dims: ['time_counter', 'y', 'x'], codec: 'zstd', since: 30, attributes: { long_name: 'Sea-surface temperature on the grid of the model', units: '°C', coordinates: 'nav_lat nav_lon' }, value: ([t, y, x]) => { const [lat, lon] = curvedAt(y, x); return isLand(lon, lat) ? NaN : temperature(lon, lat, t); } }),
    '/model/nav_lat': curved(0, 'Latitude'),
    '/model/nav_lon': curved(1, 'Longitude'),
    '/model/time_counter': coordinate([0, 31, 59], { units: 'days since 2015-01-16', calendar: 'noleap' }, 'float64', 'time_counter'),
    '/stations/name': new MockArray({ shape: [5], chunks: [5], type: 'string', dims: ['station'], fill: '', attributes: { long_name: 'Name of the station' }, value: ([at]) => ['Ocean Weather Ship M', 'Stratus', 'HOT', 'BATS', 'KERFIX'][at] }),
    '/stations/temperature': new MockArray({ shape: [54], chunks: [54], dims: ['time'], attributes: { long_name: 'Temperature at Stratus', units: '°C' }, value: ([t]) => temperature(-85, -20, t) }),
    '/mask': new MockArray({ shape: [90, 180], chunks: [90, 180], type: 'uint8', dims: ['lat', 'lon'], fill: 0, attributes: { long_name: 'Mask', flag_values: [0, 1], flag_meanings: 'sea land' }, value: ([y, x]) => Number(LAND[y][x]) }),
    '/version': new MockArray({ shape: [], chunks: [], type: 'int32', fill: 0, attributes: { long_name: 'Version of the product' }, value: () => 4 }),
    '/fine': new MockArray({ shape: [1000, 2000], chunks: [2, 2], dims: ['row', 'column'], fill: 0, attributes: { long_name: 'Far too many small chunks' }, value: ([y, x]) => Math.sin(x / 90) + Math.cos(y / 70), written: ([y, x]) => (y > 300 && x > 700 ? -1 : 20) }),
    '/large': new MockArray({ shape: [40_000, 60_000], chunks: [1000, 1000], type: 'uint8', dims: ['row', 'column'], fill: 0, attributes: { long_name: 'A scene that is larger than what is read at once' }, whole: (elements, [row, column]) => scene(elements, row * 1000, column * 1000), written: ([y, x]) => ((y + x) % 17 ? 20 : -1) }),
  };
  return new MockRepository({
    name: 'ocean', commits: [...commits, ...branch, ...open], branches: { main: commits.at(-1).id, experiment: open.at(-1).id }, tags: { 'v1.0': commits[13].id, 'v1.1': commits[50].id }, nodes,
    groups: { '/': { title: 'Sea-surface temperature, monthly means', Conventions: 'CF-1.10', institution: 'Institute of the test double', summary: 'Invented fields on a grid of two degrees, for the tests of the explorer.' }, '/ocean': {}, '/model': { title: 'Model output' }, '/stations': {} },
    containers: [{ name: 'archive', prefix: 's3://archive/thetao/', granted: true, hint: null }, { name: null, prefix: 'https://data.example.org/anomaly/', granted: false, hint: '--grant https://data.example.org/anomaly/' }],
  });
}

/** A chunk of a large scene, made fast. */
function scene(elements, top, left) {
  const across = Array.from({ length: 1000 }, (_, at) => 127 + 60 * Math.sin((left + at) / 700));
  for (let row = 0; row < 1000; row += 1) {
    const down = 60 * Math.cos((top + row) / 900);
    for (let column = 0; column < 1000; column += 1) elements[row * 1000 + column] = across[column] + down;
  }
  return elements;
}

/** How often a block of months was corrected up to a version. */
function lastCorrection(block, version) {
  return version >= CORRECTED + block ? Math.floor((version - CORRECTED - block) / 9) + 1 : 0;
}

export const HOSTILE = {
  script: '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>',
  bidi: 'sales\u202Excod.exe', nul: 'a\u0000b', percent: 'a%2Fb%', query: 'a?b#c', quote: `"'\`\${1}`, blank: ' a b ', link: 'javascript:window.hacked=1',
};

function hostile() {
  const nodes = {};
  for (const [kind, text] of Object.entries(HOSTILE)) {
    nodes[`/${text.replaceAll('/', '∕')}`] = new MockArray({
      shape: [4, 5], chunks: [2, 5], dims: [text, 'x'], since: 0,
      attributes: {
        long_name: text, units: text, kind, big: '@BIG@', nested: { '<b>': [text, { deeper: text }] }, link: `see ${HOSTILE.link} and http://example.org/${encodeURIComponent(text)}?a="><script>`, __proto__x: 1, ...Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`${text} ${at}`, text])),
      },
      value: ([y, x]) => y * 5 + x,
    });
  }
  nodes['/long'] = new MockArray({ shape: [3], chunks: [3], dims: ['x'], attributes: { long_name: 'x'.repeat(3_000_000), comment: '<b>'.repeat(2_400_000) }, value: ([x]) => x });
  const texts = Object.values(HOSTILE);
  const commits = straight('hostile', 24, (at) => `${texts[at % texts.length]}\n\n${texts[(at + 1) % texts.length]}`);
  commits.forEach((it, at) => (it.metadata = { author: texts[at % texts.length], [texts[at % texts.length]]: texts }));
  return new MockRepository({
    name: 'hostile', commits, branches: { main: commits.at(-1).id, [HOSTILE.bidi]: commits[4].id, [HOSTILE.script.replaceAll('/', '∕')]: commits[6].id }, tags: { [HOSTILE.nul]: commits[3].id }, nodes,
    groups: { '/': { title: HOSTILE.script, summary: HOSTILE.bidi } }, containers: [{ name: HOSTILE.script, prefix: HOSTILE.link, granted: false, hint: HOSTILE.bidi }],
  });
}

function wide() {
  const nodes = {};
  for (let at = 0; at < 10_000; at += 1) {
    const name = `/group_${String(Math.floor(at / 500)).padStart(2, '0')}/array_${String(at).padStart(5, '0')}`;
    nodes[name] = new MockArray({ shape: [100, 100], chunks: [50, 50], dims: ['y', 'x'], attributes: { long_name: `Field number ${at}`, units: 'm' }, value: ([y, x]) => Math.sin(y / 9 + at) * Math.cos(x / 7) });
  }
  const groups = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`/group_${String(at).padStart(2, '0')}`, {}]));
  const commits = straight('wide', 3, (at) => `Step ${at}`);
  return new MockRepository({ name: 'wide', commits, branches: { main: commits.at(-1).id }, nodes, groups });
}

function long() {
  const commits = straight('long', 10_000, (at) => (at % 777 === 0 ? `Checkpoint ${at}` : `Append step ${at}`));
  const tags = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`checkpoint-${at + 1}`, commits[777 * (at + 1)].id]));
  const nodes = { '/x': new MockArray({ shape: [10_000], chunks: [100], dims: ['step'], attributes: { long_name: 'Steps' }, value: ([at]) => Math.sin(at / 300), written: ([at], version) => (version >= at * 100 ? at * 100 : -1) }) };
  return new MockRepository({ name: 'long', commits, branches: { main: commits.at(-1).id }, tags, nodes });
}

export function world() {
  return [ocean(), hostile(), wide(), long()];
}
