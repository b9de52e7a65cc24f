// The test double of `icefield serve`: the explorer, its API, and the Zarr view, over canned repositories.
import { createServer } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { readFileSync, existsSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ANSWERS, ApiProblem, resolved } from './api.mjs';
import { world } from './world.mjs';

const assets = process.env.EXPLORE_ASSETS ?? join(dirname(fileURLToPath(import.meta.url)), '../../../crates/gateway/assets/explore');
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
const PAGE_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types icefield-worker";
const WORKER_POLICY = "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; connect-src 'self'";
const COMMON = { 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Opener-Policy': 'same-origin', 'Referrer-Policy': 'no-referrer' };

/** Starts the server. `token` asks for one; `broken(path)` may give a status for data. */
export async function serve({ port = 0, token = null, only = null } = {}) {
  const repositories = new Map(world().filter((it) => !only || only.includes(it.name)).map((it) => [it.name, it]));
  const log = [];
  const broken = new Map();
  const server = createServer(async (request, response) => {
    const start = process.hrtime.bigint();
    const url = new URL(request.url, 'http://localhost');
    const answer = await answered(request, url).catch((error) => {
      if (!(error instanceof ApiProblem)) console.error(error);
      return { status: error.status ?? 500, type: 'application/json', body: JSON.stringify(error.body ?? { error: { kind: 'failure', message: error.message, hint: null, object: null } }) };
    });
    let body = Buffer.from(answer.body ?? '');
    const headers = { ...COMMON, 'Content-Type': answer.type, ...answer.headers };
    if (answer.zip !== false && body.length > 1024 && /json|javascript|html|css/.test(answer.type) && /gzip/.test(request.headers['accept-encoding'] ?? '')) {
      body = gzipSync(body, { level: 1 });
      headers['Content-Encoding'] = 'gzip';
    }
    response.writeHead(answer.status ?? 200, { ...headers, 'Content-Length': body.length });
    response.end(body);
    if (url.pathname !== '/-/api/requests') log.unshift({ seq: (log[0]?.seq ?? 0) + 1, time: new Date().toISOString(), method: request.method, path: url.pathname + url.search, status: answer.status ?? 200, bytes: body.length, micros: Number((process.hrtime.bigint() - start) / 1000n), agent: request.headers['user-agent'] ?? null });
    log.length = Math.min(log.length, 1000);
  });

  async function answered(request, url) {
    if (url.pathname === '/-/explore') return { status: 308, type: 'text/plain', headers: { Location: '/-/explore/' } };
    if (url.pathname.startsWith('/-/explore/')) return asset(url.pathname.slice('/-/explore/'.length) || 'index.html');
    if (token && request.headers.authorization !== `Bearer ${token}`) throw new ApiProblem(401, 'unauthorized', 'a token is needed');
    const segments = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
    if (segments[0] === '-' && segments[1] === 'api') return { type: 'application/json', body: JSON.stringify(api(segments.slice(2), url.searchParams)) };
    return data(segments, url.pathname);
  }

  function asset(name) {
    const file = join(assets, `${name}.gz`);
    if (!/^[\w.-]+$/.test(name) || !existsSync(file)) return { status: 404, type: 'text/plain', body: 'not found' };
    const policy = name === 'worker.js' ? WORKER_POLICY : PAGE_POLICY;
    return { type: TYPES[name.split('.').at(-1)] ?? 'text/plain', body: gunzipSync(readFileSync(file)), headers: { 'Content-Security-Policy': policy, 'Cache-Control': 'no-cache' } };
  }

  function api(segments, query) {
    if (!segments.length) return { program: 'icefield', version: '0.0.0', repositories: [...repositories.values()].map((it) => ({ name: it.name, location: `/data/${it.name}.icechunk`, spec_version: 1, base: `/${it.name}/`, v2_base: `/-/v2/${it.name}/`, raw_base: `/-/raw/${it.name}/`, s3: null, default: 'main' })) };
    if (segments[0] === 'requests') return { last: log[0]?.seq ?? 0, requests: log.slice(0, Number(query.get('limit') ?? 200)) };
    const repository = repositories.get(segments[0]);
    if (!repository || !Object.hasOwn(ANSWERS, segments[1] ?? '')) throw new ApiProblem(404, 'not-found', `there is nothing at ${segments.join('/')}`);
    return ANSWERS[segments[1]](repository, segments.slice(2), query);
  }

  /** The Zarr view: documents and chunks of arrays. */
  async function data(segments, address) {
    const [name, ref, ...rest] = segments;
    const repository = repositories.get(name);
    if (!repository || !ref) throw new ApiProblem(404, 'not-found', 'nothing here');
    const { version } = resolved(repository, ref);
    const plain = { 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Security-Policy': 'sandbox' };
    if (broken.has(address)) return { status: broken.get(address), type: 'text/plain', body: 'chunks/XYZ cannot be read: it is shorter than the manifest says; run `icefield fsck`' };
    if (rest.at(-1) === 'zarr.json') {
      const path = `/${rest.slice(0, -1).join('/')}`;
      if (!repository.groups.has(path) && !(repository.nodes.get(path)?.since <= version)) throw new ApiProblem(404, 'not-found', 'no node');
      return { type: 'application/json', body: repository.document(path, version), headers: plain };
    }
    const at = rest.lastIndexOf('c');
    const array = at >= 0 ? repository.nodes.get(`/${rest.slice(0, at).join('/')}`) : null;
    if (!array) throw new ApiProblem(404, 'not-found', 'no key');
    const bytes = await array.chunk(rest.slice(at + 1).map(Number), version);
    if (!bytes) throw new ApiProblem(404, 'not-found', 'no chunk');
    return { type: 'application/octet-stream', body: bytes, headers: plain, zip: false };
  }

  await new Promise((done) => server.listen(port, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, log, broken, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) };
}
