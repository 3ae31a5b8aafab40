import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { packagesIn } from './build-packages.ts';
import { buildPage } from './build-page.ts';
import {
  assertLate,
  assertSlim,
  assertTogether,
  COMMONJS,
  lateLibrary,
  oneStart,
  plainBuiltins,
  slimCommander,
  slimKubernetesClient,
  slimMcp,
} from './build-plugin.ts';
import { relayProgram } from './build-relay.ts';
import { bundledPackages, LICENCES, licenceTexts } from './release/third-party.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

const SAY_EVERY_MS = 4_500;
const seconds = (): string => `${(performance.now() / 1000).toFixed(1)} s`;
setInterval(() => console.error(`> build: ${seconds()} so far`), SAY_EVERY_MS).unref();

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** What every command needs at once, and the small modules that the command line shares with what it starts. */
const START = [
  ...['cli/run.ts', 'cli/next-commands.ts', 'report/human.ts'],
  ...[
    'config/choices.ts',
    'config/forms.ts',
    'config/from-text.ts',
    'config/json-path.ts',
    'config/kinds.ts',
    'config/route-choice.ts',
    'config/table.ts',
    'machine/own-program.ts',
    'session/context/options.ts',
  ],
];

const { metafile } = await build({
  absWorkingDir: ROOT,
  entryPoints: { main: 'src/main.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // esbuild does not know yet that Node 24 has `using`. Its own helper would be one more file for each command to load.
  supported: { using: true },
  define: { DEVLOOP_VERSION: JSON.stringify(version) },
  // The package's other entry point requires its parts in a way that cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // Bundled CommonJS packages call require(), which an ES module does not have.
  banner: { js: COMMONJS },
  // The native parts of ssh2 are optional, and ssh2 works without them.
  external: ['*.node', 'cpu-features'],
  plugins: [
    oneStart(ROOT, START),
    slimCommander(),
    slimKubernetesClient(),
    slimMcp(),
    plainBuiltins(),
    lateLibrary('yaml'),
  ],
  metafile: true,
  logLevel: 'warning',
});
assertSlim(metafile);
for (const late of [
  'src/page/server.ts',
  'src/page/detail.ts',
  'src/reviews/scan.ts',
  'src/reviews/replay.ts',
])
  assertLate(metafile, late, 'src/session/up.ts');
assertLate(metafile, 'src/cli/program.ts', 'src/main.ts');
assertLate(metafile, 'src/mcp/server.ts', 'src/cli/program.ts');
assertLate(metafile, 'node_modules/web-tree-sitter/web-tree-sitter.js', 'src/checkout/go/read-sources.ts');
assertLate(metafile, 'node_modules/@kubernetes/client-node/dist/config.js', 'src/cluster/api/kubeconfig.ts');
// The program, what it loads at once, and the command line.
assertTogether(metafile, 'src/main.ts', 2);
assertTogether(metafile, 'src/cli/program.ts', 2);
// The program reads them from the directory of its own files.
const grammars = ['web-tree-sitter/web-tree-sitter.wasm', 'tree-sitter-go/tree-sitter-go.wasm'].map(
  (file) => `node_modules/${file}`,
);
for (const file of grammars) copyFileSync(join(ROOT, file), join(DIST, basename(file)));
for (const file of ['zz_devloop.go', 'zz_devloop_ids.go'])
  copyFileSync(join(ROOT, 'src/checkout/go/overlay', file), join(DIST, `${file}.txt`));
const relay = await build({ ...relayProgram(join(DIST, 'relay.cjs')), metafile: true });
const page = await buildPage(join(DIST, 'page'));
// For the list of contents and the licences of a release.
const packages = packagesIn(ROOT, [metafile, relay.metafile, page], grammars);
writeFileSync(join(DIST, '.packages.json'), `${JSON.stringify(packages, null, 2)}\n`);
writeFileSync(join(DIST, LICENCES), licenceTexts(bundledPackages(ROOT)));
// Chunk names contain a hash of the content, so chunks of earlier builds would pile up and be published.
const current = new Set(Object.keys(metafile.outputs).map((file) => basename(file)));
for (const file of readdirSync(DIST)) {
  if (file.endsWith('.js') && !current.has(file)) rmSync(join(DIST, file));
}
// bin/devloop.js prints this file, because loading the command tree would take longer than everything else `--help` does.
writeFileSync(
  join(DIST, 'help.txt'),
  execFileSync(process.execPath, [join(DIST, 'main.js'), '--help'], { env: {} }),
);
// Another script that runs this one as a step prints a line of its own.
if (process.env.npm_lifecycle_event === 'build') console.error(`> build: done in ${seconds()}`);
