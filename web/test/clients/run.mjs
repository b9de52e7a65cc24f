// Reads what standard input names, in Node and in a page of another origin in headless Chromium, and prints what was found.
//
// `interop/gateway_browser.py` says what to read, and what must be found.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import puppeteer from 'puppeteer-core';
import { browserPath } from '../harness.mjs';
import { read } from './read.mjs';

const here = dirname(fileURLToPath(import.meta.url));

async function inNode({ jobs }) {
  const found = [];
  for (const job of jobs) found.push(await read(job));
  return found;
}

/** Reads from a page whose origin is a server of its own. */
async function inChromium(wanted) {
  const contents = "import { read, neuroglancer } from './read.mjs'; Object.assign(globalThis, { read, neuroglancer });";
  const bundle = await build({ stdin: { contents, resolveDir: here }, bundle: true, format: 'esm', write: false, logLevel: 'error' });
  const script = bundle.outputFiles[0].contents;
  const server = createServer((request, response) => {
    const isScript = request.url === '/read.js';
    response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? script : '<!doctype html><title>clients</title><script type="module" src="/read.js"></script>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const browser = await puppeteer.launch({ executablePath: browserPath, headless: 'shell', args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => globalThis.read);
    return await page.evaluate(async ({ jobs, sharded, closed }) => {
      const found = [];
      for (const job of jobs) found.push(await globalThis.read(job));
      return { found, viewer: await globalThis.neuroglancer(sharded), closed: await globalThis.read(closed) };
    }, wanted);
  } finally {
    await browser.close();
    server.close();
  }
}

const wanted = JSON.parse(await text(process.stdin));
const node = await inNode(wanted);
console.log(JSON.stringify({ node, chromium: browserPath && (await inChromium(wanted)) }));
