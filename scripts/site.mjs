// `npm run site` builds the documentation as a site, into site/.vitepress/dist. With `--serve`, it then serves it on this machine.
// The packages for that are installed into site/, so that nobody needs them for devloop.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashOf, hasStamp, writeStamp } from './run-stamp.mjs';
import { fail, requiredStep } from './run-step.mjs';

const cwd = fileURLToPath(new URL('../site', import.meta.url));
const args = process.argv.slice(2);
if (args.some((arg) => arg !== '--serve')) fail('Expected no flag, or --serve.');

await install();
await requiredStep('build the site', process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build'], {
  cwd,
});
if (args.includes('--serve')) await requiredStep('serve the site', process.execPath, ['serve.mjs'], { cwd });

async function install() {
  const stamp = join(cwd, 'node_modules', '.stamp');
  const hash = hashOf(cwd, ['package-lock.json'], process.platform, process.arch);
  if (hasStamp(stamp, hash)) return;
  // None of the packages needs its install script.
  const flags = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await requiredStep('install the packages of the site', 'npm', ['ci', ...flags], { cwd });
  writeStamp(stamp, hash);
}
