// Ten thousand arrays, and ten thousand commits: requests, bytes and elements on the page are counted.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { lacks, needsBrowser, nodes, open, press, settled, shot, start, text, waitFor } from './harness.mjs';

describe('large repositories', needsBrowser, () => {
  let world;
  before(async () => {
    world = await start();
  });
  after(() => world?.close());

  it('the page loads in less than 100 kB before codecs', async () => {
    const page = await open(world, '?repo=ocean');
    const own = page.record.requests.filter((it) => it.includes('/-/explore/') && !/\/(zstd|blosc|lz4|chunk|uplot)\.js/.test(it));
    assert.ok(own.length <= 5, own.join());
    const sizes = await Promise.all(['', 'app.js', 'app.css', 'worker.js'].map(async (it) => {
      const answer = await fetch(`${world.server.url}/-/explore/${it}`, { headers: { 'Accept-Encoding': 'gzip' } });
      return Number(answer.headers.get('content-length'));
    }));
    const total = sizes.reduce((a, b) => a + b);
    assert.ok(total < 100_000, `${total} bytes`);
    await page.context.close();
  });

  it('a tree of 10,000 arrays has few rows, asks for few pages, and reaches its end', async (context) => {
    if (lacks(world, 'wide')) return context.skip(lacks(world, 'wide'));
    const page = await open(world, '?repo=wide');
    assert.match(await text(page, '.tree-count'), /10\s000 arrays, 21 groups/);
    assert.ok((await nodes(page)) < 1500, `${await nodes(page)} elements`);
    const first = page.record.requests.length;
    assert.ok(first < 64, `${first} requests, with the pictures of six arrays`);
    assert.ok(page.record.bytes < 400_000, `${page.record.bytes} bytes`);
    await page.focus('#tree');
    await press(page, 'End');
    await waitFor(page, () => [...document.querySelectorAll('#tree [role=treeitem]')].some((it) => it.textContent.includes('array_09999')));
    for (let step = 0; step < 20; step += 1) await press(page, 'PageUp');
    await settled(page);
    assert.ok(page.record.requests.length - first < 40, `${page.record.requests.length - first} requests more`);
    assert.ok((await nodes(page)) < 1500, `${await nodes(page)} elements`);
    await press(page, 'f');
    await page.keyboard.type('array_01234');
    await waitFor(page, () => document.querySelectorAll('#tree [role=treeitem]').length === 3);
    await press(page, 'ArrowDown', 'End', 'Enter');
    await settled(page);
    await waitFor(page, () => document.querySelector('.field-base'));
    await shot(page, 'wide');
    assert.deepEqual(page.record.problems, []);
    await page.context.close();
  });

  it('a history of 10,000 commits is read page by page, and long runs are folded', async (context) => {
    if (lacks(world, 'long')) return context.skip(lacks(world, 'long'));
    const page = await open(world, '?repo=long&view=history');
    const pages = () => page.record.requests.filter((it) => it.includes('/history?')).length;
    assert.ok(pages() <= 3, `${pages()} pages`);
    assert.ok(page.record.bytes < 500_000, `${page.record.bytes} bytes`);
    assert.ok((await nodes(page)) < 1500, `${await nodes(page)} elements`);
    assert.match(await text(page, '#history .run-row'), /\d+ commits from/);
    await shot(page, 'long-folded');
    await page.focus('#history');
    const before = pages();
    for (let step = 0; step < 10; step += 1) {
      await press(page, 'End', 'Enter');
      await settled(page);
    }
    assert.ok(pages() > before && pages() - before <= 14, `${pages() - before} pages for ten steps`);
    assert.ok((await nodes(page)) < 1500, `${await nodes(page)} elements`);
    await press(page, 'f');
    await page.keyboard.type('checkpoint 777');
    await waitFor(page, () => /Checkpoint 7770/.test(document.querySelector('#history')?.textContent ?? ''));
    assert.deepEqual(page.record.problems, []);
    await page.context.close();
  });

  it('moving a slider over chunks that are decoded asks for nothing', async () => {
    const page = await open(world, '?repo=ocean&path=/sst');
    const first = page.record.requests.length;
    await page.focus('#slider-0');
    for (let step = 0; step < 5; step += 1) {
      await press(page, 'ArrowRight');
      await settled(page);
    }
    const chunks = page.record.requests.slice(first).filter((it) => !it.includes('/-/explore/'));
    assert.deepEqual(chunks, []);
    await page.context.close();
  });
});
