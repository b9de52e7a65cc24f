// The parts of the page that draw nothing: calendars, text, lanes, layouts, plans.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { timeDecoder } from '../src/model/calendar.js';
import { difference } from '../src/model/difference.js';
import { Decoding, parsed, role } from '../src/model/document.js';
import { Lanes, folded } from '../src/model/lanes.js';
import { Sheet, capacity, cellCounts, flats } from '../src/model/sheet.js';
import { CHUNKS_AT_ONCE, READ_AT_ONCE, cost, pieces, planned, selection, unwritten } from '../src/model/slice.js';
import { snippets } from '../src/model/snippets.js';
import { Axis } from '../src/plot/axis.js';
import { MAPS, table } from '../src/plot/colours.js';
import { boxOf, cellsOf } from '../src/plot/curved.js';
import { balanced, described, ticks } from '../src/plot/limits.js';
import { block, bytes, line, linked, value } from '../src/text.js';

describe('times', () => {
  const cases = [
    ['days since 1950-01-01', undefined, 0, '1950-01-01'],
    ['days since 1950-01-01', 'standard', 26298.5, '2022-01-01 12:00'],
    ['hours since 1900-01-01 00:00:00', 'gregorian', 1, '1900-01-01 01:00'],
    ['seconds since 1970-01-01T00:00:00Z', 'proleptic_gregorian', 1_700_000_000, '2023-11-14 22:13:20'],
    ['days since 2000-01-01', 'noleap', 59, '2000-03-01'],
    ['days since 2000-01-01', 'standard', 59, '2000-02-29'],
    ['days since 2000-01-01', '360_day', 59, '2000-02-30'],
    ['days since 2001-01-01', 'all_leap', 59, '2001-02-29'],
    ['days since 1582-10-04', 'standard', 1, '1582-10-15'],
    ['days since 1582-10-04', 'proleptic_gregorian', 1, '1582-10-05'],
    ['days since 1582-10-04', 'julian', 1, '1582-10-05'],
    ['days since 2000-01-01 00:00 +02:00', 'standard', 0, '1999-12-31 22:00'],
    ['days since 1999-12-31', 'standard', -1, '1999-12-30'],
  ];
  for (const [units, calendar, number, expected] of cases) {
    it(`${number} ${units}, ${calendar}`, () => assert.equal(timeDecoder(units, calendar)(number), expected));
  }
  it('units of other things are none of time', () => {
    for (const units of ['degC', 'days', 'fortnights since 2000-01-01', 'days since 2000-13-01', 12, null]) assert.equal(timeDecoder(units), null, String(units));
    assert.equal(timeDecoder('days since 2000-01-01', 'mayan'), null);
  });
});

describe('documents', () => {
  it('packed numbers, fill values as numbers and as xarray stores them', () => {
    const packed = new Decoding({ data_type: 'int16', attributes: { scale_factor: 0.5, add_offset: 10, _FillValue: -1 } });
    assert.deepEqual([...packed.numbers(Int16Array.of(0, 4, -1))], [10, 12, NaN]);
    const encoded = new Decoding({ data_type: 'float32', attributes: { _FillValue: Buffer.from(new Float64Array([9.96920996838687e36]).buffer).toString('base64') } });
    assert.deepEqual([...encoded.numbers(Float32Array.of(1, 9.96921e36))], [1, NaN]);
  });
  it('integers that a number cannot hold keep their digits', () => {
    assert.equal(parsed('{"attributes":{"a":12345678901234567890}}').attributes.a, '12345678901234567890');
    assert.deepEqual(parsed('not JSON'), {});
  });
  it('coordinates are known by units, standard names and names', () => {
    assert.equal(role({ units: 'degrees_north' }), 'latitude');
    assert.equal(role({ standard_name: 'longitude' }), 'longitude');
    assert.equal(role({ units: 'days since 2000-01-01' }), 'time');
    assert.equal(role({}, 'nav_lon'), 'longitude');
    assert.equal(role({ units: 'm' }, 'depth'), null);
  });
  it('members that differ are named by their paths', () => {
    const rows = difference({ shape: [1], attributes: { a: 1, b: 2 } }, { shape: [2], attributes: { a: 1, c: 'x' } });
    assert.deepEqual(rows.map((it) => it.name), ['shape', 'attributes.b', 'attributes.c']);
    assert.equal(rows[2].before, undefined);
  });
});

describe('text', () => {
  it('hidden characters are spelled out', () => {
    assert.equal(line('a\u202Eb\u0000c\nd'), 'a\u27e8U+202E\u27e9b\u27e8U+0000\u27e9c\u27e8U+000A\u27e9d');
    assert.equal(block('a\nb\u200b'), 'a\nb\u27e8U+200B\u27e9');
    assert.equal(line('x'.repeat(500)).length, 301);
  });
  it('only http and https addresses are links, in full', () => {
    const parts = linked('see https://example.org/a?b=1, javascript:alert(1) and http://b.org.');
    assert.deepEqual(parts.filter((it) => it.href).map((it) => it.text), ['https://example.org/a?b=1', 'http://b.org']);
    assert.equal(parts.map((it) => it.text).join(''), 'see https://example.org/a?b=1, javascript:alert(1) and http://b.org.');
  });
  it('numbers and sizes', () => {
    assert.equal(bytes(999), '999 bytes');
    assert.equal(bytes(1_540_000), '1.54 MB');
    assert.equal(bytes('9007199254740993000'), '9.01 EB');
    assert.equal(value(-0.00001234), '−1.234e−5');
    assert.equal(value(NaN), 'no data');
    assert.equal(value(2n ** 60n), '1\u202f152\u202f921\u202f504\u202f606\u202f846\u202f976');
  });
});

describe('history', () => {
  const commit = (id, parent, more = {}) => ({ id, parent, refs: [], merged: [], ...more });
  it('a branch has a lane of its own until its parent, and a merge draws a line to it', () => {
    const lanes = new Lanes();
    const rows = [commit('d', 'c', { merged: ['x'] }), commit('c', 'b'), commit('x', 'b'), commit('b', 'a'), commit('a', null)].map((it) => lanes.row(it));
    assert.deepEqual(rows.map((it) => it.lane), [0, 0, 1, 0, 0]);
    assert.deepEqual(rows[0].below, [[0, 0], [0, 1]]);
    assert.deepEqual(rows[3].above, [[0, 0], [1, 0]]);
    assert.deepEqual(rows[4].below, []);
  });
  it('long runs fold around their ends, refs stay', () => {
    const lanes = new Lanes();
    const all = Array.from({ length: 100 }, (_, at) => commit(`c${at}`, `c${at + 1}`, at === 50 ? { refs: ['tag:v1'] } : {}));
    const rows = all.map((it) => ({ commit: it, lines: lanes.row(it) }));
    const shown = folded(rows, new Set());
    assert.ok(shown.length < 30);
    assert.ok(shown.some((it) => it.commit?.id === 'c50'));
    assert.equal(shown.reduce((sum, it) => sum + (it.run ? it.run.length : 1), 0), 100);
    const [run] = shown.filter((it) => it.run);
    assert.ok(folded(rows, new Set([run.first])).length > shown.length);
  });
});

describe('chunk maps', () => {
  it('every cell has a place of its own, and is found there', () => {
    for (const counts of [[], [7], [3, 4], [5, 3, 4], [2, 3, 1, 1], [9, 1, 2, 2]]) {
      const sheet = new Sheet(counts, 300, 200);
      const seen = new Set();
      for (let flat = 0; flat < sheet.total; flat += 1) {
        const [x, y] = sheet.place(flat);
        assert.equal(sheet.under(x, y), flat);
        assert.equal(sheet.flat(sheet.index(flat)), flat);
        seen.add(`${x},${y}`);
        assert.ok(x >= 0 && x < 300, `${counts}: ${x}`);
      }
      assert.equal(seen.size, sheet.total);
    }
  });
  it('arrow keys reach the neighbours', () => {
    const sheet = new Sheet([2, 3, 3], 400, 200);
    assert.equal(sheet.next(0, 1, 0), 1);
    assert.equal(sheet.next(0, 0, 1), 3);
    assert.equal(sheet.next(2, 1, 0), 9);
  });
  it('cells at the ends have fewer chunks', () => {
    assert.deepEqual(cellCounts([10, 3], [4, 1]), [3, 3]);
    assert.equal(capacity([2, 0], [10, 3], [4, 1]), 2);
    assert.deepEqual(flats([3, 3], [1, 2, 2, 0]), [5, 6]);
  });
});

describe('slices', () => {
  const page = { x: '', y: '', at: '', region: '' };
  const array = { shape: [54, 90, 180], chunks: [6, 45, 90], type: 'float32', roles: ['time', 'latitude', 'longitude'] };
  it('longitude goes across and latitude up, whichever their order', () => {
    assert.deepEqual(planned(array, page).window, [0, 90, 0, 180]);
    const turned = planned({ ...array, shape: [180, 54, 90], roles: ['longitude', 'time', 'latitude'] }, page);
    assert.deepEqual([turned.x, turned.y], [0, 2]);
    assert.deepEqual(selection(turned), [[0, 180], 0, [0, 90]]);
  });
  it('bad addresses fall back to what fits', () => {
    const plan = planned(array, { x: '9', y: 'a', at: '99,,', region: '5,2,0,900' });
    assert.deepEqual([plan.x, plan.y, plan.positions[0], plan.isWhole], [2, 1, 0, true]);
  });
  it('what is larger than can be read begins in the middle', () => {
    const large = { shape: [40_000, 60_000], chunks: [1000, 1000], type: 'uint8', roles: [null, null] };
    const plan = planned(large, page);
    assert.ok(cost({ ...large, x: plan.x, y: plan.y }, plan.window) <= READ_AT_ONCE);
    assert.ok(!plan.isWhole);
    const fine = { shape: [1000, 2000], chunks: [2, 2], type: 'float32', roles: [null, null] };
    const some = planned(fine, page);
    assert.ok(pieces({ ...fine, x: some.x, y: some.y }, some.window) <= CHUNKS_AT_ONCE, 'each chunk is a request');
  });
  it('scalars, lines and single elements have a plan', () => {
    assert.deepEqual(selection(planned({ shape: [], chunks: [], type: 'int8', roles: [] }, page)), []);
    assert.deepEqual(selection(planned({ shape: [5], chunks: [5], type: 'int8', roles: [null] }, page)), [[0, 5]]);
    assert.equal(selection(planned({ shape: [1, 1], chunks: [1, 1], type: 'int8', roles: [null, null] }, page)).length, 2);
  });
  it('elements of chunks that were never written are marked', () => {
    const plan = planned({ shape: [2, 4, 6], chunks: [1, 2, 3], type: 'float32', roles: [null, null, null] }, page);
    const mask = unwritten([[0, 1, 1], [1, 0, 0]], plan, [1, 2, 3]);
    assert.equal(mask.reduce((a, b) => a + b), 6);
    assert.equal(mask[2 * 6 + 3], 1);
    assert.equal(unwritten([[1, 0, 0]], plan, [1, 2, 3]), null);
  });
});

describe('plots', () => {
  it('limits leave out the ends, and stand in where all is equal or nothing is there', () => {
    const { low, high, none } = described(Float64Array.from({ length: 1000 }, (_, at) => (at === 0 ? -1e9 : at === 1 ? NaN : at)));
    assert.ok(low > 0 && high < 1000 && none === 1);
    assert.deepEqual([described([3, 3]).low, described([3, 3]).high], [2.5, 3.5]);
    assert.deepEqual([described([NaN]).low, described([NaN]).valid], [0, 0]);
    assert.deepEqual(balanced({ low: -1, high: 4 }), { low: -4, high: 4 });
    assert.deepEqual(ticks(0, 30, 6), [0, 5, 10, 15, 20, 25, 30]);
  });
  it('an axis puts north up and finds the nearest position, rising or falling', () => {
    for (const coordinates of [[-30, 0, 30], [30, 0, -30]]) {
      const axis = new Axis({ length: 3, name: 'lat', role: 'latitude', coordinates, isVertical: true });
      assert.equal(coordinates[axis.positions(3)[0]], 30);
      assert.equal(coordinates[axis.nearest(-22)], -30);
      assert.equal(axis.text(axis.nearest(28)), '30° N');
    }
    assert.equal(new Axis({ length: 3, name: 'x', coordinates: [1, 1, 2] }).coordinates, null, 'coordinates that repeat are no axis');
  });
  it('a curved grid covers its box', () => {
    const [rows, columns] = [30, 60];
    const latitudes = Float64Array.from({ length: rows * columns }, (_, at) => -87 + Math.floor(at / columns) * 6);
    const longitudes = Float64Array.from({ length: rows * columns }, (_, at) => ((at % columns) * 6 + 75) % 360);
    const box = boxOf(latitudes, longitudes);
    assert.deepEqual([box.west, box.east], [0, 360]);
    const cells = cellsOf({ latitudes, longitudes, rows, columns, box, width: 120, height: 58 });
    assert.ok(cells.filter((it) => it < 0).length < cells.length * 0.03);
  });
  it('the sequential maps grow lighter from end to end', () => {
    const light = (map, at) => 0.2126 * map[at * 3] + 0.7152 * map[at * 3 + 1] + 0.0722 * map[at * 3 + 2];
    for (const name of Object.keys(MAPS).filter((it) => it !== 'difference')) {
      const map = table(name);
      for (let at = 8; at < 256; at += 8) assert.ok(light(map, at) > light(map, at - 8), `${name} at ${at}`);
    }
  });
});

describe('snippets', () => {
  it('hostile names stay inside their quotes', () => {
    const all = snippets({ root: 'http://h/r/ID/', base: 'http://h/r/ID/a%22%3B/', path: '/a";', kind: 'array', s3: null, document: {} });
    assert.ok(all.find((it) => it.name === 'xarray').code.includes('ds["a\\";"]'));
    assert.ok(all.find((it) => it.name === 'GDAL').code.endsWith("'ZARR:\"/vsicurl/http://h/r/ID\"'"));
  });
});
