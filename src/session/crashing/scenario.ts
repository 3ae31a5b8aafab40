import { DevloopError } from '../../errors.ts';
import { runTool, type ToolResult } from '../../machine/tool.ts';
import { shellWord, shortened } from '../../phrases.ts';

/** What makes the controller work, and what takes that back. */
export interface Scenario {
  /** Undefined if it has succeeded; otherwise what went wrong, as sentences. */
  run(signal: AbortSignal): Promise<string | undefined>;
  reset(signal: AbortSignal): Promise<string | undefined>;
}

interface ScenarioOptions {
  command: string[];
  /** For a shell. */
  reset: string;
}

/** How long one run of the command can take. */
const LIMIT_MS = 300_000;
const LONGEST_OUTPUT = 2_000;

export function createScenario(
  { command, reset }: ScenarioOptions,
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
): Scenario {
  const done = async (words: string[], signal: AbortSignal): Promise<string | undefined> => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
    const ended = await runTool(words, {
      cwd,
      env,
      signal: limited,
      keeps: LONGEST_OUTPUT,
      contained: { onLeft() {} },
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      if (limited.aborted) return undefined;
      throw error;
    });
    return ended ? failureOf(words, ended) : `\`${textOf(words)}\` has not ended after ${LIMIT_MS / 1000} s.`;
  };
  return {
    run: (signal) => done(command, signal),
    reset: (signal) => done(['sh', '-c', reset], signal),
  };
}

function failureOf(words: string[], { code, output, missing }: ToolResult): string | undefined {
  if (code === 0) return undefined;
  if (missing) return `\`${words[0]}\` was not found.`;
  const said = output.trim();
  const end = said === '' ? '.' : `:\n${said}`;
  return `\`${shortened(textOf(words), LONGEST_OUTPUT)}\` ended with exit code ${code}${end}`;
}

function textOf(words: string[]): string {
  return words[0] === 'sh' && words[1] === '-c' ? words[2]! : words.map(shellWord).join(' ');
}

const CREATING = new Set(['apply', 'create']);
/** Flags of `kubectl apply` and `create` that `delete` has, too, each with a value. */
const KEPT = new Set([
  ...['-f', '--filename', '-k', '--kustomize', '-l', '--selector', '-R'],
  ...['-n', '--namespace', '--context', '--kubeconfig', '--as'],
]);
/** Such as `-nshop`, which can be any flag with its value. */
const JOINED = /^-\w[^=]/;

/** What takes the command back, for a shell: `kubectl delete -f FILE` after `kubectl apply -f FILE`. Throws 'usage.invalid' if nobody knows. */
export function resetFor(command: string[]): string {
  const [program, verb = '', ...words] = command;
  const kept = words.flatMap((word, index) => (isKept(words, index) ? [word] : []));
  const isFrom = kept.some((word) => /^(?:-f|-k|--filename|--kustomize)/.test(word));
  const isKnown = isFrom && !kept.includes('-') && !words.some((word) => JOINED.test(word));
  if (program === 'kubectl' && CREATING.has(verb) && isKnown)
    return textOf(['kubectl', 'delete', '--ignore-not-found', ...kept]);
  throw new DevloopError(
    'usage.invalid',
    'devloop does not know how to take back what the command does, so that it can run again.',
    { hint: "Say how: --reset 'kubectl delete -f sample.yaml --ignore-not-found'" },
  );
}

function isKept(words: string[], index: number): boolean {
  const [word = '', before = ''] = [words[index], words[index - 1]];
  return KEPT.has(word.split('=')[0]!) || (KEPT.has(before) && before !== '-R');
}
