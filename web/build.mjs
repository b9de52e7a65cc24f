// Builds the explorer into the folder that the gateway embeds, compressed, or, with `--check`, compares a fresh build with it.
//
// The same sources and the same esbuild give the same files on every machine. They are compared by what they decompress to,
// because releases of zlib differ in the bytes that they write.
import { build } from 'esbuild';
import { gunzipSync, gzipSync } from 'node:zlib';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { thirdParty } from './licenses.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const kept = join(here, '../crates/gateway/assets/explore');
/** What a browser loads before it draws a field whose chunks need no codec. */
const FIRST = ['index.html', 'app.css', 'app.js', 'worker.js'];
const LIMIT = 100_000;

const options = {
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  entryNames: '[name]',
  chunkNames: '[name]',
  absWorkingDir: here,
  metafile: true,
  logLevel: 'warning',
};

async function make(out) {
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(out)) rmSync(join(out, name), { recursive: true });
  const page = await build({ ...options, entryPoints: { app: 'src/main.js' }, outdir: out, splitting: true });
  const worker = await build({
    ...options,
    entryPoints: { worker: 'src/data/worker.js' },
    outdir: out,
    splitting: true,
    // fzstd needs neither WebAssembly nor `eval`.
    alias: { 'numcodecs/zstd': './src/data/zstd.js' },
  });
  copyFileSync(join(here, 'src/index.html'), join(out, 'index.html'));
  copyFileSync(join(here, 'src/icon.svg'), join(out, 'icon.svg'));
  const inputs = [page, worker].flatMap((it) => Object.keys(it.metafile.inputs));
  writeFileSync(join(out, 'THIRD-PARTY'), thirdParty(here, inputs));
  for (const name of readdirSync(out)) {
    const bytes = readFileSync(join(out, name));
    const packed = gzipSync(bytes, { level: 9 });
    // The byte that names the system that packed: the same on all.
    packed[9] = 255;
    writeFileSync(join(out, `${name}.gz`), packed);
    if (name !== 'THIRD-PARTY') rmSync(join(out, name));
  }
  return out;
}

function sizes(out) {
  const names = readdirSync(out).filter((it) => it.endsWith('.gz')).map((it) => it.slice(0, -3));
  const size = (name) => readFileSync(join(out, `${name}.gz`)).length;
  for (const name of names) console.log(`${name.padEnd(14)} ${content(out, `${name}.gz`).length} bytes, ${size(name)} gzipped`);
  const first = FIRST.map(size).reduce((a, b) => a + b);
  console.log(`before codecs: ${first} bytes gzipped, of at most ${LIMIT}`);
  if (first >= LIMIT) throw new Error(`the explorer has ${first} bytes gzipped before codecs, over ${LIMIT}`);
}

function content(dir, name) {
  const bytes = readFileSync(join(dir, name));
  return name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

function differences(fresh) {
  const names = new Set([fresh, kept].flatMap((dir) => (existsSync(dir) ? readdirSync(dir) : [])));
  const differs = (name) => {
    if (![fresh, kept].every((dir) => existsSync(join(dir, name)))) return true;
    return !content(fresh, name).equals(content(kept, name));
  };
  return [...names].filter(differs).sort();
}

if (process.argv.includes('--check')) {
  const fresh = await make(mkdtempSync(join(tmpdir(), 'explore-')));
  const stale = differences(fresh);
  sizes(fresh);
  rmSync(fresh, { recursive: true });
  if (stale.length) {
    console.error(`not what web/ builds: ${stale.join(', ')}; run \`npm run build\` in web/ and commit the result`);
    process.exit(1);
  }
} else {
  const at = process.argv.indexOf('--out');
  sizes(await make(at > 0 ? process.argv[at + 1] : kept));
}
