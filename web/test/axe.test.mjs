// Each page in both themes: no violation of WCAG 2.2 AA that axe knows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { needsBrowser, open, press, settled, shot, start, waitFor } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const PAGES = {
  repositories: [''],
  overview: ['?repo=ocean'],
  field: ['?repo=ocean&path=/sst&show=table&point=20,40'],
  difference: ['?repo=ocean&path=/sst&with=v1.0'],
  map: ['?repo=ocean&path=/model/tos'],
  line: ['?repo=ocean&path=/stations/temperature'],
  text: ['?repo=ocean&path=/stations/name'],
  chunks: ['?repo=ocean&path=/sst&tab=chunks', async (page) => {
    await page.focus('#sheet');
    await press(page, 'ArrowRight', 'Enter');
    await waitFor(page, () => document.querySelector('.chunk-facts dl'));
  }],
  blame: ['?repo=ocean&path=/sst&tab=chunks&by=commit'],
  attributes: ['?repo=ocean&path=/sst&tab=attributes'],
  'open in': ['?repo=ocean&path=/sst&tab=open'],
  history: ['?repo=ocean&view=history', async (page) => {
    await page.focus('#history');
    await press(page, 'Enter');
    await settled(page);
  }],
  compare: ['?repo=ocean&view=compare&from=main~50&to=main&node=/sst'],
  usage: ['?repo=ocean&view=storage'],
  check: ['?repo=ocean&view=storage&tab=check&run=check'],
  grants: ['?repo=ocean&view=storage&tab=grants'],
  requests: ['?repo=ocean&view=requests'],
  versions: ['?repo=ocean', async (page) => {
    await press(page, '/');
    await waitFor(page, () => document.querySelectorAll('#refs [role=option]').length > 1);
  }],
  help: ['?repo=ocean', (page) => press(page, '?')],
  'missing node': ['?repo=ocean&path=/nothing'],
  'missing version': ['?repo=ocean&ref=nothing'],
};

describe('accessibility', needsBrowser, () => {
  let world;
  before(async () => {
    world = await start();
  });
  after(() => world?.close());

  for (const theme of ['light', 'dark']) {
    for (const [name, [state, act]] of Object.entries(PAGES)) {
      it(`${name}, ${theme}`, async () => {
        const page = await open(world, state, { theme, motion: 'reduce' });
        await act?.(page);
        await shot(page, `axe-${theme}-${name.replaceAll(' ', '-')}`);
        await page.evaluate(axe);
        const { violations, incomplete } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
        const told = violations.flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.target.join(' ')} ${node.failureSummary.replace(/\s+/g, ' ')}`));
        assert.deepEqual(told, []);
        assert.ok(incomplete.every((it) => it.id !== 'aria-valid-attr-value'), JSON.stringify(incomplete.map((it) => it.id)));
        assert.deepEqual(page.record.problems, []);
        await page.context.close();
      });
    }
  }

  it('targets are at least 24 pixels high and wide, or have room around them', async () => {
    const page = await open(world, '?repo=ocean&path=/sst&point=20,40');
    const small = await page.$$eval('button, select, input:not(.segment input), [role=tab], [role=treeitem], .views a', (all) => all.filter((it) => it.offsetParent).map((it) => [it.outerHTML.slice(0, 80), it.getBoundingClientRect()]).filter(([, box]) => box.height && (box.height < 24 || box.width < 24)).map(([text]) => text));
    assert.deepEqual(small, []);
    await page.context.close();
  });

  it('the focus is always seen', async () => {
    const page = await open(world, '?repo=ocean&path=/sst');
    const unseen = [];
    for (let step = 0; step < 40; step += 1) {
      await press(page, 'Tab');
      const found = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const seen = [element, element.closest('.segment')].filter(Boolean).some((it) => getComputedStyle(it).outlineStyle !== 'none');
        return seen ? null : element.outerHTML.slice(0, 90);
      });
      if (found) unseen.push(found);
    }
    assert.deepEqual(unseen, []);
    await page.context.close();
  });

  it('a narrow window and a zoom of 400 % lose nothing to the side', async () => {
    for (const state of ['?repo=ocean&path=/sst', '?repo=ocean&view=history', '?repo=ocean&view=compare&from=main~50&to=main&node=/sst', '?repo=ocean&view=storage']) {
      const page = await open(world, state, { width: 360, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${state}: ${wide} pixels too wide`);
      await shot(page, `narrow-${state.replace(/\W+/g, '-')}`);
      await page.context.close();
    }
  });
});
