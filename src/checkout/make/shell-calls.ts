import { runTool } from '../../machine/tool.ts';

/** make ends a call at its closing parenthesis, even within quotes. */
const CALL = /\$\(shell\s+/g;
/** Whether make would run a command for a part of this text. */
export function hasShellCall(text: string): boolean {
  return text.includes('$(shell ');
}

/** Whether `withShellOutputs` runs the command of each call in this text. */
export function runsShellCalls(text: string): boolean {
  const calls = shellCalls(text);
  return calls.length > 0 && calls.every((call) => commandOf(call) !== undefined);
}

/** The limit for calls: a program has few of them, but a damaged Makefile can have any number. */
const MOST = 40;
const LIMIT_MS = 5_000;
/** A build that contains its own time is never the same as the one before, so it would be linked again for each session. */
const TELLS_TIME = /\bdate\b/;

/**
 * Replaces each `$(shell …)` of a Makefile by what its command prints, as make does. The commands run in the Makefile's directory. Some
 * operators get more than their version in this way, such as the images that they deploy. This runs commands of the checkout, so it is only
 * for a program that is built and run, too. Calls that fail, take too long, contain unknown variables or print the time are left as they
 * are.
 */
export async function withShellOutputs(
  text: string,
  directory: string,
  signal?: AbortSignal,
): Promise<string> {
  const calls = [...new Set(shellCalls(text))].slice(0, MOST);
  const outputs = await Promise.all(calls.map((call) => outputOf(call, directory, signal)));
  return calls.reduce((now, call, index) => now.replaceAll(call, () => outputs[index] ?? call), text);
}

function shellCalls(text: string): string[] {
  return [...text.matchAll(CALL)].flatMap(({ index }) => {
    const end = endOfCall(text, index + '$('.length);
    return end === undefined ? [] : [text.slice(index, end)];
  });
}

function endOfCall(text: string, from: number): number | undefined {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return at + 1;
  }
  return undefined;
}

/** The command of a call, for a shell. Undefined if it contains unknown variables or prints the time. */
function commandOf(call: string): string | undefined {
  const command = call.replace(CALL, '').slice(0, -1);
  const isKnown = !command.replaceAll('$$', '').includes('$');
  return isKnown && !TELLS_TIME.test(command) ? command.replaceAll('$$', '$') : undefined;
}

async function outputOf(
  call: string,
  directory: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const command = commandOf(call);
  if (command === undefined) return undefined;
  const limit = AbortSignal.timeout(LIMIT_MS);
  const ends = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  const words = ['sh', '-c', command];
  const ended = await runTool(words, { cwd: directory, signal: ends }).catch(() => undefined);
  signal?.throwIfAborted();
  return ended?.code === 0 ? ended.stdout.trimEnd().replace(/\s*\n/g, ' ') : undefined;
}
