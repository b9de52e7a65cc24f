// Writes the licences of the packages that a bundle has parts of.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the text of THIRD-PARTY for the inputs that esbuild names, as paths from `root`. */
export function thirdParty(root, inputs) {
  const names = new Set();
  for (const input of inputs) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) names.add(found[1]);
  }
  const parts = [...names].sort().map((name) => describe(root, name));
  return `The explorer has parts of the packages below, under their licences.\n\n${parts.join('\n')}`;
}

function describe(root, name) {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((it) => /^licen[cs]e(\.|$)/i.test(it));
  const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `No licence file; the package states ${license}.`;
  const line = '-'.repeat(78);
  return `${line}\n${name} ${version} (${license})\n${line}\n${text.replaceAll('\r\n', '\n')}\n`;
}
