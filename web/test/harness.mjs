// What the tests of the page share: a server, a browser, and a page that records what it asks for.
//
// Without ICEFIELD_URL the test double serves canned repositories; with it, the tests run against that `icefield serve`.
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { serve } from './mock/server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const SHOTS = process.env.EXPLORER_SHOTS ?? join(process.env.CARGO_TARGET_DIR ?? join(here, '../../target'), 'explorer');
const CANDIDATES = [process.env.CHROMIUM, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome'];

/** The browser, or `null` where none is installed: tests then say so and are skipped. */
export const browserPath = CANDIDATES.find((it) => it && existsSync(it)) ?? null;
export const needsBrowser = browserPath ? {} : { skip: 'no Chromium: set CHROMIUM, or install chromium-headless-shell' };

/** Starts what a file of tests needs. */
export async function start(options = {}) {
  const given = options.token || options.mock ? null : process.env.ICEFIELD_URL;
  const server = given ? { url: given.replace(/\/$/, ''), close: async () => {} } : await serve(options);
  const browser = await puppeteer.launch({ executablePath: browserPath, headless: 'shell', args: ['--no-sandbox'], protocolTimeout: 60_000 });
  const { repositories } = options.token ? { repositories: [] } : await (await fetch(`${server.url}/-/api`)).json();
  return {
    server, browser, isMock: !given,
    repositories: new Set(repositories.map((it) => it.name)),
    async close() {
      await browser.close();
      await server.close();
    },
  };
}

/** The reason to skip a test, if the server has no repository of that name. */
export function lacks(world, name) {
  return world.repositories.has(name) ? false : `the server has no repository \`${name}\``;
}

/** Opens a page at a state, in a theme. Errors of scripts and of policies fail the test through `problems`. */
export async function open(world, query = '', { theme = 'light', width = 1440, height = 900, motion = 'no-preference' } = {}) {
  const context = await world.browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: motion }]);
  const record = { requests: [], bytes: 0, problems: [], outside: [], flying: new Set() };
  page.on('request', (request) => {
    record.flying.add(request);
    record.requests.push(request.url());
    if (!request.url().startsWith(world.server.url) && !request.url().startsWith('blob:')) record.outside.push(request.url());
  });
  // Chromium reports no end for a request of a worker that a navigation ends: the requests of the document before are dropped here.
  // `waitForNetworkIdle` would count them for ever.
  page.on('response', (response) => {
    const request = response.request();
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) record.flying = new Set([request]);
  });
  page.on('workerdestroyed', () => record.flying.clear());
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => record.flying.delete(request));
  page.on('response', (response) => {
    record.bytes += Number(response.headers()['content-length'] ?? 0);
  });
  page.on('pageerror', (error) => record.problems.push(error.message));
  page.on('console', (message) => {
    // A document that is not there is an answer, which Chromium also prints.
    if (message.type() === 'error' && !/status of (401|404|410|500|502)/.test(message.text())) record.problems.push(message.text());
  });
  page.on('dialog', (dialog) => {
    record.problems.push(`a dialog opened: ${dialog.message()}`);
    dialog.dismiss();
  });
  Object.assign(page, { record, context });
  await page.goto(`${world.server.url}/-/explore/${query}`, { waitUntil: 'load' });
  await settled(page);
  return page;
}

/** Waits until no request is under way and none begins for 120 ms. */
async function quiet({ record }) {
  const end = Date.now() + 20_000;
  for (let since = Date.now(), seen = -1; Date.now() - since < 120; await new Promise((done) => setTimeout(done, 20))) {
    if (record.flying.size || record.requests.length !== seen) since = Date.now();
    seen = record.requests.length;
    if (Date.now() > end) throw new Error(`these requests do not end: ${[...record.flying].map((it) => it.url()).join(', ')}`);
  }
}

/** Waits until nothing is being read. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector('#app .top') && !document.querySelector('.loading, .busy, .boot'), { timeout: 20_000 });
  await quiet(page);
  await page.waitForFunction(() => !document.querySelector('.loading, .busy'), { timeout: 20_000 });
}

export async function text(page, selector) {
  return page.$eval(selector, (element) => element.textContent.replace(/\s+/g, ' ').trim());
}

/** Presses keys one after the other. */
export async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

/** Moves the focus by Tab until a selector matches the focused element. */
export async function tabTo(page, selector, most = 80) {
  for (let at = 0; at < most; at += 1) {
    if (await page.evaluate((it) => document.activeElement?.matches(it) ?? false, selector)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${selector}`);
}

export async function waitFor(page, test, ...values) {
  await page.waitForFunction(test, { timeout: 15_000 }, ...values);
}

export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

/** The share of pixels of a canvas that have a colour, and how many colours there are: a plot that is drawn has many. */
export async function colours(page, selector) {
  return page.$eval(selector, (canvas) => {
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const found = new Set();
    for (let at = 0; at < data.length; at += 16) if (data[at + 3]) found.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return found.size;
  });
}

export async function nodes(page) {
  return page.evaluate(() => document.querySelectorAll('*').length);
}
