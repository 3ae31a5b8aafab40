import type { Checkout } from '../checkout/files.ts';
import type { BuildOutput, Language } from '../checkout/language.ts';
import type { ControllerSettings } from '../config/merge.ts';
import type { Section } from '../config/table.ts';
import { DevloopError } from '../errors.ts';
import { toolOf } from '../languages.ts';
import type { Emit } from '../report/events.ts';

/** Stands for the manager's arguments in the user's own command. */
export const ARGUMENTS = '{args}';

/** What is known about the program of the user's own command. */
const COMMAND = {
  is: 'command' as const,
  language: undefined,
  mayPlace: false,
  kubeconfigFlags: [],
  isElectable: false,
  electionFlags: [],
  imageFiles: [],
  imageVariables: {},
  rivals: [],
  asksForRestart: true,
};

interface CommandInputs {
  checkout: Checkout;
  settings: Section<'controller'> & Pick<ControllerSettings, 'isNamedByFlag'>;
  /** The language of the checkout's program, if devloop knows it. */
  language: Language | undefined;
}

/** Plans how to run the user's own command, and how to build its program if devloop.yaml says so. */
export function planCommand({ checkout, settings, language }: CommandInputs, run: string[], emit: Emit) {
  assertWholeWords(run);
  const source = settings.isNamedByFlag ? 'named by you' : 'devloop.yaml';
  emit({ type: 'discovered', what: 'command', value: run.join(' '), source });
  const { build } = settings;
  return {
    ...COMMAND,
    build,
    output: outputIn(build, run),
    tool: toolOf(build) ?? language?.tool,
    run,
    cwd: checkout.root,
    watch: { checkout: checkout.root },
  };
}

/** Compilers of many languages write to the file that follows `-o`. */
function outputIn(build: string[] = [], [program]: string[]): BuildOutput {
  const output = build.indexOf('-o') + 1;
  return output > 0 && build[output] === program ? output : undefined;
}

function assertWholeWords(run: string[]): void {
  const part = run.find((word) => word !== ARGUMENTS && word.includes(ARGUMENTS));
  if (part === undefined) return;
  throw new DevloopError(
    'usage.invalid',
    `${ARGUMENTS} in \`${part}\` is only part of a word, but it stands for several words.`,
    {
      hint: `Make it a word of its own. With \`sh -c\`: sh -c 'exec node server.mjs "$@"' sh ${ARGUMENTS}`,
    },
  );
}
