// The ten features of the explorer, each driven by the keyboard alone.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { colours, lacks, needsBrowser, open, press, settled, shot, start, tabTo, text, waitFor } from './harness.mjs';

describe('features by keyboard', needsBrowser, () => {
  let world;
  before(async () => {
    world = await start();
  });
  after(() => world?.close());

  function feature(name, body) {
    it(name, (context) => (lacks(world, 'ocean') ? context.skip(lacks(world, 'ocean')) : body(context)));
  }
  async function opened(state, options) {
    const page = await open(world, state, options);
    return page;
  }
  async function done(page) {
    assert.deepEqual(page.record.problems, []);
    assert.deepEqual(page.record.outside, []);
    await page.context.close();
  }

  feature('a slash opens the picker of versions, text narrows it, Enter goes there, and p pins the snapshot', async () => {
    const page = await opened('?repo=ocean');
    await press(page, '/');
    await waitFor(page, () => document.querySelectorAll('#refs [role=option]').length >= 4);
    await shot(page, '01-versions');
    await page.keyboard.type('v1.0');
    await waitFor(page, () => document.querySelectorAll('#refs [role=option]').length === 1);
    await press(page, 'Enter');
    await waitFor(page, () => new URLSearchParams(location.search).get('ref') === 'tag:v1.0');
    await settled(page);
    assert.match(await text(page, '.ref-button'), /v1\.0/);
    await press(page, 'p');
    await waitFor(page, () => /^[0-9A-Z]{20}$/.test(new URLSearchParams(location.search).get('ref')));
    assert.match(await text(page, '.top'), /pinned/);
    // A link to the same state shows the same.
    const again = await opened(await page.evaluate(() => location.search));
    assert.equal(await text(again, '.version-line'), await text(page, '.version-line'));
    await press(page, '/');
    await page.keyboard.type('main~2');
    await press(page, 'Enter');
    await waitFor(page, () => new URLSearchParams(location.search).get('ref') === 'main~2');
    await settled(page);
    await done(again);
    await done(page);
  });

  feature('the history has lanes, tags and merges; a commit opens, and its data and its difference are one key away', async () => {
    const page = await opened('?repo=ocean');
    await press(page, '2');
    await settled(page);
    await waitFor(page, () => document.querySelectorAll('#history .commit').length > 10);
    const lanes = await page.$$eval('#history .graph circle', (dots) => new Set(dots.map((dot) => dot.getAttribute('cx'))).size);
    assert.ok(lanes >= 2, `${lanes} lanes`);
    const names = await page.$$eval('#history .badge', (all) => all.map((it) => it.textContent));
    assert.ok(names.includes('main') && names.includes('experiment') && names.includes('v1.1'), names.join());
    await tabTo(page, '#history');
    await press(page, 'ArrowDown', 'ArrowDown', 'Enter');
    await settled(page);
    assert.ok(await page.$('.commit-detail'));
    await waitFor(page, () => document.querySelectorAll('.commit-detail .changes li').length > 0);
    await shot(page, '02-history');
    await page.focus('#history');
    await press(page, 'd');
    await waitFor(page, () => new URLSearchParams(location.search).get('view') === 'compare');
    await settled(page);
    await page.goBack();
    await settled(page);
    await page.focus('#history');
    await press(page, 'o');
    await waitFor(page, () => !new URLSearchParams(location.search).get('view'));
    await press(page, '2', 'f');
    await page.keyboard.type('merge');
    await waitFor(page, () => document.querySelectorAll('#history .commit').length >= 1 && document.querySelectorAll('#history .commit').length < 5);
    assert.match(await text(page, '#history .commit'), /merge/i);
    await done(page);
  });

  feature('the tree shows shape, type and size, filters, folds and opens by arrow keys', async () => {
    const page = await opened('?repo=ocean');
    await waitFor(page, () => [...document.querySelectorAll('#tree .node-size')].some((it) => /kB|MB/.test(it.textContent)));
    const rows = await page.$$eval('#tree [role=treeitem]', (all) => all.map((it) => it.textContent));
    assert.ok(rows.some((it) => it.includes('sst') && it.includes('54×90×180') && it.includes('float32')), rows.join('\n'));
    assert.match(await page.$eval('#tree [role=treeitem][title*=zstd]', (it) => it.title), /chunks/);
    await press(page, 'f');
    await page.keyboard.type('thetao');
    await waitFor(page, () => document.querySelectorAll('#tree [role=treeitem]').length === 3);
    await press(page, 'ArrowDown');
    await press(page, 'End', 'Enter');
    await waitFor(page, () => new URLSearchParams(location.search).get('path') === '/ocean/thetao');
    await settled(page);
    await page.focus('#filter');
    await page.keyboard.down('Control');
    await press(page, 'a');
    await page.keyboard.up('Control');
    await press(page, 'Backspace');
    await waitFor(page, () => document.querySelectorAll('#tree [role=treeitem]').length > 15);
    const before = await page.$$eval('#tree [role=treeitem]', (all) => all.length);
    await page.focus('#tree');
    await press(page, 'ArrowLeft', 'ArrowLeft');
    await waitFor(page, (was) => document.querySelectorAll('#tree [role=treeitem]').length < was, before);
    await waitFor(page, () => new URLSearchParams(location.search).has('hide'));
    await press(page, 'ArrowRight');
    await waitFor(page, (was) => document.querySelectorAll('#tree [role=treeitem]').length === was, before);
    await shot(page, '03-tree');
    await done(page);
  });

  feature('a comparison lists nodes with counts, the attributes that differ, and a map of the chunks that changed', async () => {
    const page = await opened('?repo=ocean&ref=main');
    await press(page, '3');
    await settled(page);
    await tabTo(page, '#side-from');
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelector('dialog[open]'));
    await page.keyboard.type('main~50');
    await press(page, 'Enter');
    await settled(page);
    await waitFor(page, () => document.querySelectorAll('#changes [role=option]').length > 2);
    assert.match(await text(page, '.counts'), /added.*chunks/);
    await tabTo(page, '#changes');
    await press(page, 'Home');
    const at = await page.$$eval('#changes [role=option] .change-path', (all) => all.findIndex((it) => it.textContent === '/sst'));
    for (let step = 0; step < at; step += 1) await press(page, 'ArrowDown');
    await press(page, 'Enter');
    await settled(page);
    assert.match(await text(page, '.content'), /attributes\.long_name/);
    assert.match(await text(page, '.content'), /\d+ chunks of 36 changed/);
    await tabTo(page, '#changed-chunks');
    await press(page, 'ArrowRight', 'ArrowDown');
    assert.match(await text(page, '.sheet .readout'), /Chunk \d/);
    await shot(page, '04-compare');
    await done(page);
  });

  feature('the chunk map moves from chunk to chunk, shows one, colours by size and by commit, and has a table', async () => {
    const page = await opened('?repo=ocean&path=/sst_anomaly');
    await tabTo(page, '#tab-plot');
    await press(page, 'ArrowRight');
    await waitFor(page, () => document.querySelector('#sheet'));
    await settled(page);
    if (world.isMock) assert.match(await text(page, '.totals'), /6 native.*1 virtual.*2 not written/);
    await tabTo(page, '#sheet');
    await press(page, 'ArrowRight', 'ArrowRight');
    assert.match(await text(page, '.sheet .readout'), /Chunk 1, 0, 0/);
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelector('.chunk-facts dl'));
    assert.match(await text(page, '.chunk-facts'), /Kind/);
    await page.focus('.segment input');
    await press(page, 'ArrowRight', 'ArrowRight');
    await waitFor(page, () => document.querySelectorAll('.blame ol li').length > 0);
    await tabTo(page, '.cell-table summary');
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelectorAll('.cell-table tbody tr').length === 9);
    await shot(page, '05-chunks');
    await done(page);
  });

  feature('chunks are aggregated where there are more than 100,000', async (context) => {
    if (!world.isMock) return context.skip('only the test double has such an array');
    const page = await opened('?repo=ocean&path=/fine&tab=chunks');
    await waitFor(page, () => document.querySelector('#sheet'));
    assert.match(await text(page, '.chunk-map .toolbar'), /500 × column 1000 chunks.*in cells of/);
    await tabTo(page, '#sheet');
    await press(page, 'Home', 'End');
    assert.match(await text(page, '.sheet .readout'), /Chunks 49\d–499, 99\d–999.*not written/);
    assert.match(await text(page, '.cell-table summary'), /\d+ cells/);
    await shot(page, '05-aggregated');
    return done(page);
  });

  feature('the second click draws a field with a slider for time; keys move, zoom, step, and draw a line through a point', async () => {
    const page = await opened('?repo=ocean');
    await press(page, 'f');
    await press(page, 'ArrowDown');
    const at = await page.$$eval('#tree [role=treeitem]', (all) => all.findIndex((it) => it.textContent.startsWith('sst5')));
    await press(page, 'Home');
    for (let step = 0; step < at; step += 1) await press(page, 'ArrowDown');
    await press(page, 'Enter');
    await waitFor(page, () => new URLSearchParams(location.search).get('path') === '/sst');
    await settled(page);
    assert.ok((await colours(page, '.field-base')) > 150, 'the field is drawn');
    assert.match(await text(page, '.slider-value'), /^1981-01-16 1\/54/);
    await page.focus('#slider-0');
    await press(page, 'ArrowRight');
    await waitFor(page, () => /^1981-02-15/.test(document.querySelector('.slider-value').textContent));
    await settled(page);
    await page.focus('.field-over');
    await press(page, ']');
    await waitFor(page, () => /3\/54/.test(document.querySelector('.slider-value').textContent));
    await settled(page);
    await press(page, 'ArrowLeft', 'ArrowDown');
    assert.match(await text(page, '.readout'), /-?\d.* °C.*°/);
    await press(page, '+');
    await waitFor(page, () => new URLSearchParams(location.search).get('region'));
    await settled(page);
    await press(page, '0');
    await waitFor(page, () => !new URLSearchParams(location.search).get('region'));
    await settled(page);
    await page.focus('.field-over');
    for (let step = 0; step < 3; step += 1) {
      await page.keyboard.down('Shift');
      await press(page, 'ArrowLeft');
      await page.keyboard.up('Shift');
    }
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelector('.line-frame .u-over'));
    await settled(page);
    await page.evaluate(() => document.querySelector('.point').scrollIntoView());
    await shot(page, '06-line');
    await tabTo(page, '.toolbar button[aria-pressed]', 120);
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelectorAll('.numbers-table tbody tr').length > 5);
    await page.select('#colours', 'cividis');
    await waitFor(page, () => new URLSearchParams(location.search).get('colours') === 'cividis');
    // The state is all in the address: a second page draws the same.
    const again = await opened(await page.evaluate(() => location.search));
    assert.equal(await text(again, '.slider-value'), await text(page, '.slider-value'));
    await again.evaluate(() => document.querySelector('.content').scrollTo(0, 0));
    await shot(again, '06-slice');
    await done(again);
    await done(page);
  });

  feature('fills, chunks that were never written, packed numbers and flags are told apart', async () => {
    const page = await opened('?repo=ocean&path=/sst_anomaly');
    assert.match(await text(page, '.legend'), /without data/);
    assert.match(await text(page, '.legend'), /mean -?[\d.]+ K/);
    const last = await opened('?repo=ocean&path=/sst_anomaly&at=53,,');
    assert.match(await text(last, '.legend'), /16\s200 in chunks that were never written/);
    const flags = await opened('?repo=ocean&path=/mask');
    assert.match(await text(flags, '.legend'), /sea to land/);
    await shot(last, '06-not-written');
    for (const it of [page, last, flags]) await done(it);
  });

  feature('curved grids are drawn as maps, lines, scalars and text as what they are', async () => {
    const map = await opened('?repo=ocean&path=/model/tos&point=40,20');
    assert.ok((await colours(map, '.field-base')) > 120);
    assert.match(await text(map, '.readout'), /° [NS].*° [EW]/);
    await shot(map, '06-map');
    const line = await opened('?repo=ocean&path=/stations/temperature');
    await waitFor(line, () => document.querySelector('.line-frame .u-over'));
    const scalar = await opened('?repo=ocean&path=/version');
    assert.match(await text(scalar, '.single'), /^4/);
    const words = await opened('?repo=ocean&path=/stations/name');
    assert.match(await text(words, '.values'), /Stratus/);
    for (const it of [map, line, scalar, words]) await done(it);
  });

  feature('a slice larger than what is read at once begins with a window', async (context) => {
    if (!world.isMock) return context.skip('only the test double has such an array');
    const page = await opened('?repo=ocean&path=/large');
    assert.match(await text(page, '.notice'), /the part that can be read at once/);
    assert.ok(page.record.bytes < 140e6);
    return done(page);
  });

  feature('the difference of two versions of a slice is drawn, counted, and switched by arrow keys', async () => {
    const page = await opened('?repo=ocean&path=/sst');
    await tabTo(page, '#compare-slice');
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelector('dialog[open]'));
    await page.keyboard.type('v1.0');
    await waitFor(page, () => document.querySelectorAll('#refs [role=option]').length === 1);
    await press(page, 'Enter');
    await settled(page);
    await waitFor(page, () => /elements of 16.200 differ/.test(document.querySelector('.comparison')?.textContent ?? ''));
    assert.ok((await colours(page, '.field-base')) > 40);
    await shot(page, '07-difference');
    await page.focus('.comparison input:checked');
    await press(page, 'ArrowLeft');
    await waitFor(page, () => new URLSearchParams(location.search).get('mode') === 'there');
    await settled(page);
    const same = await opened('?repo=ocean&path=/mask&with=v1.0');
    assert.match(await text(same, '.comparison'), /the same in both versions/);
    await done(same);
    await done(page);
  });

  feature('every program gets code with the pinned address', async () => {
    const page = await opened('?repo=ocean&path=/sst');
    await tabTo(page, '#tab-plot');
    await press(page, 'ArrowLeft');
    await waitFor(page, () => document.querySelectorAll('.snippet').length >= 5);
    const all = await text(page, '.open-in');
    for (const name of ['xarray', 'zarr-python', 'tensorstore', 'zarrita', 'GDAL', 'R (']) assert.ok(all.includes(name), name);
    const address = await text(page, '.address code');
    assert.match(address, /\/[0-9A-Z]{20}\/sst\/$/);
    const answer = await fetch(`${address}zarr.json`);
    assert.equal((await answer.json()).node_type, 'array');
    await tabTo(page, '.address .copy');
    await press(page, 'Enter');
    await waitFor(page, () => /Copied/.test(document.querySelector('.toast').textContent));
    await shot(page, '08-open-in');
    await done(page);
  });

  feature('attributes are shown as stored and decoded, the document as text', async () => {
    const page = await opened('?repo=ocean&path=/time&tab=attributes');
    assert.match(await text(page, '.attribute-table'), /days since 1981-01-16.*0 is 1981-01-16/);
    await tabTo(page, '.document summary');
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelector('.document').open);
    assert.match(await text(page, '.document pre'), /"zarr_format":\s*3/);
    await shot(page, '09-attributes');
    await done(page);
  });

  feature('usage, the check, grants and the requests of the server are each a key away', async () => {
    const page = await opened('?repo=ocean');
    await press(page, '4');
    await settled(page);
    assert.match(await text(page, '.usage'), /[kM]?B in \d.* objects/);
    await shot(page, '10-usage');
    await page.focus('.segment input');
    await press(page, 'ArrowRight');
    await tabTo(page, '.ask button');
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelectorAll('.wide tbody tr').length > 3);
    await page.focus('#tab-usage');
    await press(page, 'ArrowRight');
    await tabTo(page, '.ask button');
    await press(page, 'Enter');
    await waitFor(page, () => document.querySelector('.verdict'));
    assert.match(await text(page, '.verdict'), /Sound/);
    await page.focus('#tab-check');
    await press(page, 'ArrowRight');
    await settled(page);
    if (world.isMock) assert.match(await text(page, '.storage'), /must not read it.*--grant/);
    await press(page, '5');
    await waitFor(page, () => document.querySelectorAll('.request-table tbody tr').length > 3);
    await shot(page, '10-requests');
    await done(page);
  });
});
