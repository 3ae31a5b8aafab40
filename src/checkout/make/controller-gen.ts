import { posix } from 'node:path';
import { readBuildText } from './build-text.ts';
import { expandKnown } from './variables.ts';
import { withoutQuotes, wordsOf } from './words.ts';

/** How a Makefile writes CRDs, roles and webhook configurations, as data: nothing of it is run by make. */
export interface ManifestGeneration {
  /** `manifests` in most Makefiles. */
  target: string;
  /** The target that writes DeepCopy methods, `generate` in most Makefiles; undefined if there is none, or it is the same. */
  codeTarget: string | undefined;
  /** Before its arguments: a path as the Makefile has it, or a command of the go tool. */
  program: { file: string } | { go: string[] };
  /** The version that the Makefile installs; undefined if it names none. */
  version: string | undefined;
  /** What controller-gen does, each time: `crd`, `paths=./...`. */
  calls: GenerationCall[];
  /** Whether the rule does nothing else, so that what controller-gen writes is what `make` would leave. */
  isWhole: boolean;
}

export interface GenerationCall {
  /** Generators with their options, and the paths of the sources. */
  words: string[];
  /** The directory below the root that each generator writes to. */
  outputs: Map<Generator, string>;
}

export type Generator = (typeof GENERATORS)[number];

const GENERATORS = ['crd', 'rbac', 'webhook'] as const;
/** No value is a path, because rbac writes to a file that its option names. Only a header is read from one, in the checkout. */
const OPTION =
  /^(crd|rbac|webhook)(?::(?:headerFile=(?!\/|[^,]*\.\.)[\w./-]+(?:,|$)|(?!headerFile=)[\w=.:{}-]+(?:,|$))*)?$/;
/** The generator of DeepCopy methods. */
const CODE = /^object(?::|$)/;
/** Sources of the checkout only. */
const PATHS = /^(?!.*[=/;,{]\.\.(?:[/;,}]|$))paths=(?!\/)[\w./{},;-]+$/;
const OUTPUT = /^output(?::(crd|rbac|webhook))?:(?:artifacts:config|dir)=(.+)$/;
const DIRECTORY = /^[\w.][\w./-]*$/;
const RULE = /^([\w./-]+(?:[ \t]+[\w./-]+)*)[ \t]*:(?![:=])/;
/** The variable can be set in a file that the Makefile includes. */
const PROGRAM = /(?:^|[/ ])controller-gen(?:-v[\w.-]+)?\)?$|^\$[({]CONTROLLER_GEN[)}]$/;
const MODULE = /^sigs\.k8s\.io\/controller-tools\/cmd\/controller-gen(?:@([\w.-]+))?$/;
const VERSION = /^v\d+\.\d+\.\d+/;
const VERSIONS = ['CONTROLLER_TOOLS_VERSION', 'CONTROLLER_GEN_VERSION'];
/** What a rule can do beside controller-gen without a change of what that writes. */
const HARMLESS = /^(?:[@-]*)(?:echo|mkdir|printf|true|rm -rf?)\b/;

/** Undefined if no rule runs controller-gen for manifests, or if it gets an argument that devloop does not know. */
export function manifestGeneration(makefile: string): ManifestGeneration | undefined {
  const { lines, variables } = readBuildText(makefile);
  const rules = rulesOf(lines.map((line) => (line.startsWith('\t') ? expandKnown(line, variables) : line)));
  const found = rules.map(({ target, commands }) => ({ target, runs: commands.map(runOf) }));
  const rule = found
    .filter(({ runs }) => runs.some((run) => run?.writes))
    .sort((a, b) => Number(b.target === 'manifests') - Number(a.target === 'manifests'))[0];
  if (rule === undefined) return undefined;
  const runs = rule.runs.filter((run) => run !== undefined);
  const writing = runs.filter(({ writes }) => writes);
  const calls = writing.map(({ words }) => callOf(words));
  if (calls.includes(undefined)) return undefined;
  const { program, version } = writing[0]!;
  const named = VERSIONS.map((name) => variables.get(name)).find((one) => VERSION.test(one ?? ''));
  const commands = rules.find(({ target }) => target === rule.target)!.commands;
  const code = found.find(({ runs }) => runs.some((run) => run?.words.some((word) => CODE.test(word))));
  const codeTarget = code?.target === rule.target ? undefined : code?.target;
  return {
    ...{ target: rule.target, codeTarget, program, version: version ?? named },
    calls: calls.filter((call) => call !== undefined),
    isWhole: commands.every((command) => runOf(command) !== undefined || HARMLESS.test(command)),
  };
}

interface Rule {
  target: string;
  commands: string[];
}

function rulesOf(lines: string[]): Rule[] {
  const rules: Rule[] = [];
  let open: Rule[] = [];
  for (const line of lines.filter((one) => one.trim() !== '' && !one.startsWith('#'))) {
    if (line.startsWith('\t')) {
      for (const { commands } of open) commands.push(line.trim());
      continue;
    }
    const [, targets] = RULE.exec(line) ?? [];
    open = (targets?.split(/[ \t]+/) ?? []).map((target) => ({ target, commands: [] }));
    rules.push(...open);
  }
  return rules;
}

interface Run {
  program: ManifestGeneration['program'];
  version?: string | undefined;
  words: string[];
  writes: boolean;
}

/** A command that is controller-gen and nothing else. */
function runOf(command: string): Run | undefined {
  const words = wordsOf(command.replace(/^[@-]+/, '')).map(unquoted);
  const at = words.findIndex((word) => PROGRAM.test(word) || MODULE.test(word));
  if (at < 0 || words.some((word) => /^(?:&&|\|\|?|;|>{1,2})$/.test(word))) return undefined;
  const rest = words.slice(at + 1);
  const writes = rest.some((word) => OPTION.test(word));
  const word = words[at]!;
  if (words[0] === 'go' && at > 0) {
    const [, version] = MODULE.exec(word) ?? [];
    const isKnown = at === 2 && (words[1] === 'tool' || words[1] === 'run');
    return isKnown ? { program: { go: words.slice(1, 3) }, version, words: rest, writes } : undefined;
  }
  return at === 0 ? { program: { file: word }, words: rest, writes } : undefined;
}

/** `paths="./..."` as the shell passes it. */
function unquoted(word: string): string {
  return withoutQuotes(word).replace(/^([\w:]+=)(["'])(.*)\2$/, '$1$3');
}

function callOf(words: string[]): GenerationCall | undefined {
  // DeepCopy methods are sources, and those of a checkout are its own.
  const rest = words.filter((word) => !CODE.test(word));
  const given = new Map<string, string>();
  const kept: string[] = [];
  for (const word of rest) {
    const [, generator = '', directory = ''] = OUTPUT.exec(word) ?? [];
    if (directory !== '') {
      const inside = posix.normalize(directory);
      if (!DIRECTORY.test(inside) || inside.startsWith('..')) return undefined;
      given.set(generator, inside);
    } else if (OPTION.test(word) || PATHS.test(word)) kept.push(word);
    else return undefined;
  }
  const generators = GENERATORS.filter((one) => kept.some((word) => OPTION.exec(word)?.[1] === one));
  return {
    words: kept,
    outputs: new Map(generators.map((one) => [one, given.get(one) ?? given.get('') ?? `config/${one}`])),
  };
}
