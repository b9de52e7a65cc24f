// A walk through every view of whatever a server has: the same against the test double and against `icefield serve`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { colours, needsBrowser, open, press, settled, shot, start, text, waitFor } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe('a walk through a server', needsBrowser, () => {
  let world;
  let repository;
  before(async () => {
    world = await start();
    const wanted = process.env.ICEFIELD_REPOSITORY ?? 'ocean';
    repository = world.repositories.has(wanted) ? wanted : [...world.repositories][0];
  });
  after(() => world?.close());

  const api = async (rest) => (await fetch(`${world.server.url}/-/api/${encodeURIComponent(repository)}/${rest}`)).json();
  async function sound(page, name) {
    await shot(page, `served-${name}`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    assert.deepEqual(violations.map((it) => `${it.id}: ${it.nodes[0].target}`), []);
    assert.deepEqual(page.record.problems, []);
    assert.deepEqual(page.record.outside, []);
    assert.equal(await page.$('.problem'), null, name);
  }
  const at = (state) => `?repo=${encodeURIComponent(repository)}&${state}`;

  it('every view draws, in both themes', async () => {
    const { nodes } = await api('tree/main?limit=500');
    const fields = nodes.filter((it) => it.kind === 'array' && it.shape.filter((length) => length > 1).length >= 2 && /float|int/.test(it.data_type));
    const [field] = fields.sort((a, b) => b.shape.length - a.shape.length);
    assert.ok(field, 'the server has an array of two dimensions');
    const path = encodeURIComponent(field.path);
    const { snapshots } = await api('history?limit=100');
    const views = {
      overview: '', field: `path=${path}`, chunks: `path=${path}&tab=chunks`, blame: `path=${path}&tab=chunks&by=commit`, attributes: `path=${path}&tab=attributes`, 'open-in': `path=${path}&tab=open`,
      history: `view=history&commit=${snapshots[0].id}`, compare: `view=compare&from=${snapshots.at(-1).id}&to=${snapshots[0].id}`, usage: 'view=storage', check: 'view=storage&tab=check&run=check', grants: 'view=storage&tab=grants', requests: 'view=requests',
    };
    for (const theme of ['light', 'dark']) {
      for (const [name, state] of Object.entries(views)) {
        const page = await open(world, at(state), { theme });
        if (name === 'field') assert.ok((await colours(page, '.field-base')) > 60, 'the field is drawn');
        if (name === 'blame') await waitFor(page, () => document.querySelectorAll('.blame ol li').length > 0);
        if (name === 'check') assert.match(await text(page, '.verdict'), /Sound/);
        await sound(page, `${theme}-${name}`);
        await page.context.close();
      }
    }
  });

  it('usage by array, ref and commit', async () => {
    for (const by of ['array', 'ref', 'commit']) {
      const page = await open(world, at(`view=storage&by=${by}`));
      await page.focus('.ask button');
      await press(page, 'Enter');
      await waitFor(page, () => document.querySelector('.wide tbody tr'));
      await settled(page);
      await sound(page, `usage-${by}`);
      await page.context.close();
    }
  });

  it('the search of the history and the filter of the tree answer', async () => {
    const page = await open(world, at('view=history'));
    const first = await text(page, '#history .commit-message');
    await press(page, 'f');
    await page.keyboard.type(first.slice(0, 12));
    await waitFor(page, (expected) => document.querySelector('#history .commit-message')?.textContent.startsWith(expected), first.slice(0, 12));
    await page.context.close();
  });
});
