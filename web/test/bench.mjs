// Prints how long the page takes until it first paints, and until a field is drawn: `node test/bench.mjs`.
// Median of five fresh browsers' profiles, against the test double or ICEFIELD_URL.
import { start } from './harness.mjs';

const RUNS = 5;
const world = await start();
const state = process.env.BENCH_STATE ?? '?repo=ocean&path=/sst';
const [paints, fields] = [[], []];
for (let run = 0; run < RUNS; run += 1) {
  const context = await world.browser.createBrowserContext();
  const page = await context.newPage();
  await page.goto(`${world.server.url}/-/explore/${state}`, { waitUntil: 'domcontentloaded' });
  await page.waitForFunction(() => document.querySelector('.legend') && !document.querySelector('.busy'));
  fields.push(await page.evaluate(() => performance.now()));
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  await context.close();
}
const median = (all) => Math.round([...all].sort((a, b) => a - b)[Math.floor(RUNS / 2)]);
console.log(`first paint ${median(paints)} ms, field drawn ${median(fields)} ms (median of ${RUNS})`);
await world.close();
