import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { REVIEWS_ACTIONS } from '../../../src/cli/reviews.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['*.md', 'docs/**/*.md', 'examples/**/*.md', 'test/*/*.md', '.github/**/*.md'];
/** Where the code that is typed in a shell begins to be something else. */
const END = / -- |[;|`"'()]|&&|…/;
/** What follows `devloop` in a sentence: a verb. */
const VERB = /^(?:\w+s|cannot|could|did|will|allowed)[;,]?$/;
/** Flags of other programs that a page names alone. */
const FLAGS_OF_OTHERS = new Set(
  '--admission-control-config-file --build-arg --cluster --config --controller-runtime-metrics-address --dir --enable-aggregator-routing --force-conflicts --from --global --leader-elect --leader-election --metricsPort --propagation --security-opt --stop --to --wait-for-client --webhook-cert-path --webhook-port'.split(
    ' ',
  ),
);

/** What an operator's Makefile has, beside what the sample's has. */
const TARGETS_OF_OTHERS = ['setup-envtest', 'test-e2e'];
/** Documented as what devloop refuses. */
const REFUSED = 'devloop down --yes';

const program = createProgram({ name: 'devloop', version: '', write() {}, run: async () => {} });
const commands = new Map(program.commands.map((command) => [command.name(), command]));
const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts;
const targets = new Set([
  ...TARGETS_OF_OTHERS,
  ...[...read('examples/application-operator/Makefile').matchAll(/^([\w-]+):/gm)].map(([, name]) => name),
]);

it('has no command and no flag in a document that does not exist', () => {
  const pages = globSync(PAGES, { cwd: ROOT });
  const code = pages.flatMap((page) => codeIn(read(page)).map((text) => ({ page, text })));
  expect(code.length).toBeGreaterThan(3_000);
  expect(code.flatMap(({ page, text }) => deadIn(text).map((dead) => `${page}: ${dead}`))).toEqual([]);
});

it('sees what does not exist', () => {
  const dead = (markdown: string): string[] => codeIn(markdown).flatMap(deadIn);
  expect(dead('`devloop upp`, `kubectl devloop down --al`, `reviews --gone x`, `--gone`')).toEqual([
    'devloop upp',
    'devloop down --al',
    'devloop reviews --gone',
    '--gone',
  ]);
  expect(dead('```sh\nA=b devloop reviews shoow 4 # or -x\neval "$(devloop env --gone)"\n```')).toEqual([
    'devloop reviews shoow',
    'devloop env --gone',
  ]);
  expect(dead('`npm run gone`, `make gone`')).toEqual(['npm run gone', 'make gone']);
  expect(dead('`devloop up --debug 1 -- x --y`, `devloop cannot …`, `kubectl get -o`, `test -f a`')).toEqual(
    [],
  );
});

/** The lines of code blocks, and code within lines. */
function codeIn(markdown: string): string[] {
  const blocks: string[] = [];
  const prose = markdown.replaceAll(
    /^ *```(.*)\n([\s\S]*?)^ *```/gm,
    (_, language: string, block: string) => {
      const lines = block.replaceAll(/(?:^|\s)# .*$/gm, '').split('\n');
      blocks.push(...(language === 'sh' ? lines : lines.filter((line) => line.startsWith('$ '))));
      return '';
    },
  );
  return [...blocks, ...[...prose.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)];
}

function deadIn(code: string): string[] {
  const ours = code.matchAll(/(?:^|[ ($])devloop (?!\|)(\S.*)/g);
  const found = [...ours].flatMap(([, rest]) => deadCommand(rest!.split(END)[0]!.split(' ')));
  const [first = ''] = code.split(' ');
  if (commands.has(first) && / --/.test(code)) found.push(...deadCommand(code.split(END)[0]!.split(' ')));
  if (/^--\w/.test(first)) found.push(...deadFlag(first));
  for (const [text, script] of code.matchAll(/\bnpm run ([\w:-]+)/g))
    if (!(script! in scripts)) found.push(text);
  for (const [, target] of code.matchAll(/(?:^|&& |\()make ([a-z][\w-]*)/g))
    if (!targets.has(target!)) found.push(`make ${target}`);
  return found;
}

function deadCommand([name = '', ...words]: string[]): string[] {
  const command = commands.get(name.replace(/\W+$/, ''));
  if (command === undefined) {
    const known = name.startsWith('-')
      ? flagsOf(program).has(name)
      : name === '' || name === 'help' || VERB.test(name);
    return known ? [] : [`devloop ${name}`];
  }
  const flags = words
    .map((word) => word.replaceAll(/^\[|\]$|[=,].*$/g, ''))
    .filter((word) => /^--?[a-z]/i.test(word));
  const dead = flags.filter((flag) => !flagsOf(command).has(flag) && !/^-\w+$/.test(flag));
  const [first = ''] = words;
  const actions = actionsOf(command);
  if (actions && /^[a-z]{3,}$/.test(first) && !actions.includes(first)) dead.unshift(first);
  return dead.map((word) => `devloop ${command.name()} ${word}`).filter((text) => text !== REFUSED);
}

function deadFlag(word: string): string[] {
  const flag = word.replace(/[=[,].*$/, '');
  const isKnown =
    FLAGS_OF_OTHERS.has(flag) || [program, ...commands.values()].some((one) => flagsOf(one).has(flag));
  return isKnown ? [] : [flag];
}

function flagsOf(command: Command): Set<string | undefined> {
  return new Set(['--help', '-h', ...command.options.flatMap(({ long, short }) => [long, short])]);
}

/** The words that can follow a command, if it has such words. */
function actionsOf(command: Command): readonly string[] | undefined {
  return command.name() === 'reviews' ? REVIEWS_ACTIONS : command.registeredArguments[0]?.argChoices;
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
