import { Command } from 'commander';
import type { up } from '../session/up.ts';
import {
  addCommonFlags,
  addExamples,
  type CommonFlags,
  commonOptions,
  outputOptions,
  present,
} from './common.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';
import { EMBEDDED, embedded } from './take-over.ts';
import { invalid } from './usage.ts';
import { parseCount, parseSeconds } from './values.ts';

interface CrashtestFlags extends CommonFlags {
  reset?: string;
  before?: true;
  point?: string;
  ignore?: string[];
  limit: number;
  quietSeconds: number;
  yes?: true;
  embedded?: true;
}

const QUIET_SECONDS = 5;
const LIMIT = 30;

/** `own` is the command that makes the controller work: the words after `--`. */
export function crashtestCommand(shell: Shell, own: string[] | undefined): Command {
  const command = new Command('crashtest')
    .summary('kill the controller at each of its writes, and compare the end')
    .description(
      'Takes the operator over as `up` does, and runs COMMAND, such as `kubectl apply` with a sample: twice without a crash, and then once for each write of the controller, which is killed right after the write and starts again. Compares the objects that the controller writes at the end of each run with those of a run without a crash. Before each run, what COMMAND did is taken back. Everything is restored at the end. The exit code is 6 if a run ends differently.',
    )
    .usage('[options] -- COMMAND...')
    .option(
      '--reset <command>',
      'takes back what COMMAND did (default for `kubectl apply -f`: `kubectl delete -f`)',
    )
    .option('--before', 'kill the controller right before each write, instead of after it')
    .option('--point <fault>', 'only one run, with this crash, as an earlier crash test has printed it')
    .option(
      '--ignore <path>',
      'do not compare this field, as a JSONPath such as .status.lastRun (repeatable)',
      (value: string, earlier: string[] = []) => [...earlier, value],
    )
    .option('--limit <n>', 'the most writes at which the controller is killed', parseCount, LIMIT)
    .option(
      '--quiet-seconds <n>',
      'a run ends when the controller has been at rest for so long',
      parseSeconds,
      QUIET_SECONDS,
    )
    .option(...EMBEDDED)
    .option('--yes', 'change a cluster without asking that devloop has not changed before from this machine');
  addCommonFlags(addSettingFlags(command, 'others')).action(async (flags: CrashtestFlags) => {
    if (own === undefined)
      throw invalid(
        '`crashtest` needs a command that makes the controller work.',
        `${shell.name} crashtest -- kubectl apply -f config/samples/sample.yaml`,
      );
    await shell.run(outputOptions(flags, true), async (io) => {
      const { crashtest } = await import('../session/crashtest.ts');
      const { before = false, ignore = [], limit, quietSeconds, yes = false, reset, point } = flags;
      const common = commonOptions(flags, givenBy('up', flags));
      const own_ = { command: own, before, ignore, limit, quietSeconds, ...present({ reset, point }) };
      await crashtest({ ...common, ...own_, yes }, io, hostOf(flags, shell));
    });
  });
  return addExamples(command, `${shell.name} crashtest`, [
    [
      '-- kubectl apply -f config/samples/shop.yaml',
      'Does the controller survive a crash after each of its writes?',
    ],
    ["--reset 'make undeploy-sample' -- make deploy-sample", 'The same, with commands of your own'],
    [
      "--point 'crash create services nth=1' -- kubectl apply -f sample.yaml",
      'Only a crash after the first Service that it creates',
    ],
  ]);
}

/** What runs the session in place of `up` in a cluster. */
function hostOf(flags: CrashtestFlags, shell: Shell): typeof up | undefined {
  const typed = `${shell.name} crashtest --embedded -- COMMAND`;
  return flags.embedded && ((options, io, guest) => embedded(options, { ...flags, typed }, io, guest));
}
