// Text from a repository is text: names, attributes, messages, authors and refs that would like to be more.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { lacks, needsBrowser, nodes, open, press, settled, shot, start, text, waitFor } from './harness.mjs';
import { HOSTILE } from './mock/world.mjs';

describe('hostile text', needsBrowser, () => {
  let world;
  before(async () => {
    world = await start();
  });
  after(() => world?.close());

  async function harmless(page) {
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    const strange = await page.$$eval('#app img, #app script, #app iframe, #app b, #app a', (all) => all.filter((it) => it.tagName !== 'A' || !/^https?:$/.test(new URL(it.href, location.href).protocol)).map((it) => it.outerHTML.slice(0, 120)));
    assert.deepEqual(strange, []);
    const away = await page.$$eval('#app a[href]', (all) => all.filter((it) => it.origin !== location.origin && it.rel !== 'noopener noreferrer').map((it) => it.outerHTML.slice(0, 120)));
    assert.deepEqual(away, []);
    const hidden = await page.evaluate(() => {
      const all = document.body.textContent + document.title;
      const at = all.search(/[\u0000-\u0008\u202a-\u202e\u2066-\u2069]/);
      return at < 0 ? '' : JSON.stringify(all.slice(Math.max(0, at - 60), at + 20));
    });
    assert.equal(hidden, '', 'characters that change what is read are spelled out');
    assert.deepEqual(page.record.problems, []);
    assert.deepEqual(page.record.outside, []);
  }

  it('names, titles, attributes and documents stay text in the tree and in every tab', async (context) => {
    if (lacks(world, 'hostile')) return context.skip(lacks(world, 'hostile'));
    const page = await open(world, '?repo=hostile');
    await harmless(page);
    for (const name of Object.values(HOSTILE)) {
      const path = encodeURIComponent(`/${name.replaceAll('/', '∕')}`);
      for (const tab of ['plot', 'chunks', 'attributes', 'open']) {
        await page.goto(`${world.server.url}/-/explore/?repo=hostile&path=${path}&tab=${tab}`);
        await settled(page);
        if (tab === 'attributes') {
          await page.$eval('.document summary', (it) => it.click());
          assert.match(await text(page, '.attribute-table'), /12345678901234567890/, 'numbers beyond 2⁵³ keep their digits');
        }
        await harmless(page);
      }
    }
    await shot(page, 'hostile');
    await page.context.close();
  });

  it('the data of arrays with such names are drawn', async (context) => {
    if (lacks(world, 'hostile')) return context.skip(lacks(world, 'hostile'));
    const page = await open(world, `?repo=hostile&path=${encodeURIComponent(`/${HOSTILE.percent.replaceAll('/', '∕')}`)}`);
    assert.match(await text(page, '.legend'), /0 to 19/);
    await page.context.close();
  });

  it('messages, authors, metadata, refs, findings and containers stay text', async (context) => {
    if (lacks(world, 'hostile')) return context.skip(lacks(world, 'hostile'));
    for (const state of ['view=history', 'view=compare&from=main~5&to=main', 'view=storage&tab=check&run=check', 'view=storage&tab=grants', 'view=requests', 'path=%2F%3Cscript%3Ealert(1)%3C%2Fscript%3E', 'ref=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E', 'with=%3Cb%3E&path=/long']) {
      const page = await open(world, `?repo=hostile&${state}`);
      if (state === 'view=history') {
        await page.focus('#history');
        await press(page, 'ArrowDown', 'Enter');
        await settled(page);
        await press(page, '/');
        await waitFor(page, () => document.querySelectorAll('#refs [role=option]').length > 3);
      }
      await harmless(page);
      await page.context.close();
    }
  });

  it('a document of 10 MB is cut, and the page stays small', async (context) => {
    if (lacks(world, 'hostile')) return context.skip(lacks(world, 'hostile'));
    const page = await open(world, '?repo=hostile&path=/long&tab=attributes');
    await page.$eval('.document', (it) => { it.open = true; });
    assert.match(await text(page, '.content'), /Only its beginning is shown|more characters/);
    assert.ok((await nodes(page)) < 2000);
    assert.ok((await page.evaluate(() => document.body.textContent.length)) < 500_000);
    await harmless(page);
    await page.context.close();
  });

  it('the policies of the page and of the worker are those that the page needs', async () => {
    const [page, worker] = await Promise.all(['', 'worker.js'].map((it) => fetch(`${world.server.url}/-/explore/${it}`)));
    const policy = page.headers.get('content-security-policy');
    for (const rule of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"]) assert.ok(policy.includes(rule), rule);
    assert.ok(!policy.includes('unsafe'), policy);
    assert.match(worker.headers.get('content-security-policy'), /default-src 'none'.*'unsafe-eval'/);
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  });
});

describe('failures', needsBrowser, () => {
  it('without a token the page asks for one, and keeps it in memory alone', async () => {
    const world = await start({ token: 'secret', only: ['ocean'] });
    const page = await open(world, '?repo=ocean&path=/sst#token=secret');
    assert.ok(await page.$('.field-base'));
    assert.ok(!(await page.url()).includes('secret'));
    assert.equal(await page.evaluate(() => Object.values(localStorage).concat(Object.values(sessionStorage), document.cookie).join()), '');
    const other = await open(world, '?repo=ocean');
    await other.type('input[type=password]', 'secret');
    await press(other, 'Enter');
    await waitFor(other, () => document.querySelector('#tree [role=treeitem]'));
    await world.close();
  });

  it('a chunk that cannot be read is an error with its object, never a value', async () => {
    const world = await start({ mock: true, only: ['ocean'] });
    const page = await open(world, '?repo=ocean&path=/sst');
    const [address] = page.record.requests.filter((it) => it.endsWith('/sst/zarr.json'));
    world.server.broken.set(new URL(address.replace('zarr.json', 'c/1/0/0')).pathname, 502);
    await page.focus('.field-over');
    for (let step = 0; step < 6; step += 1) await press(page, ']');
    await waitFor(page, () => document.querySelector('.problem'));
    assert.match(await text(page, '.problem'), /chunks\/XYZ.*icefield fsck/);
    await page.focus('#slider-0');
    await press(page, 'Home');
    await waitFor(page, () => !document.querySelector('.problem'));
    await world.close();
  });

  it('a server that goes away is told as such', async () => {
    const world = await start({ mock: true, only: ['ocean'] });
    const page = await open(world, '?repo=ocean');
    await world.server.close();
    await press(page, '2');
    await waitFor(page, () => document.querySelector('.problem'));
    assert.match(await text(page, '.problem'), /does not answer/);
    await world.browser.close();
  });
});
