import { Command } from 'commander';
import { DevloopError, Ending, type ErrorCode } from '../errors.ts';
import { BY_ITSELF } from '../session/context/options.ts';
import { addCommonFlags, addExamples, outputOptions } from './common.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';
import { addTakeOverFlags, embedded, type TakeOverFlags, takeOverOptions } from './take-over.ts';
import { invalid } from './usage.ts';

const [STDOUT, STDERR] = [1, 2];

/** `own` is the command that runs against the local code: the words after `--`. */
export function testCommand(shell: Shell, own: string[] | undefined): Command {
  const command = new Command('test')
    .summary('run a command, such as a test suite, against the local code')
    .description(
      "Takes the operator over as `up` does, runs COMMAND while the local code answers, and restores everything. COMMAND gets the variables that `devloop env` prints: KUBECONFIG for the session's cluster, and KUBEBUILDER_ASSETS. The exit code is that of COMMAND; 125 if devloop failed first, 126 if COMMAND cannot be executed, 127 if it was not found, and 4 if it passed and not everything could be restored.",
    )
    .usage('[options] -- COMMAND...');
  addCommonFlags(addSettingFlags(addTakeOverFlags(command), 'others')).action(
    async (flags: TakeOverFlags) => {
      if (own === undefined)
        throw invalid('`test` needs a command.', `${shell.name} test -- go test ./test/e2e/...`);
      const { json, verbose } = flags;
      const given = { ...(json && ({ 'controller.log': 'all' } as const)), ...givenBy('up', flags) };
      const options = { ...BY_ITSELF, ...takeOverOptions(flags, given, `${shell.name} test`) };
      await shell.run(outputOptions(flags, !flags.embedded), async (io) => {
        const { test } = await import('../session/test.ts');
        const { up } = await import('../session/up.ts');
        // With --json, all of devloop's own standard output is JSON.
        const typed = `${shell.name} test --embedded -- COMMAND`;
        const tested = { command: own, printsAll: json ?? verbose ?? false, stdout: json ? STDERR : STDOUT };
        await test(tested, io, (io, guest) =>
          flags.embedded ? embedded(options, { ...flags, typed }, io, guest) : up(options, io, guest),
        );
      });
    },
  );
  return addExamples(command, `${shell.name} test`, [
    ['-- go test ./test/e2e/...', 'A suite that needs the operator, against the code of this checkout'],
    ['--embedded -- kubectl apply -k config/samples', 'Without a cluster: are the samples admitted?'],
    [
      "-- sh -c 'kubectl apply -f shop.yaml && kubectl wait --for=condition=Ready shop/web'",
      'Several commands',
    ],
  ]);
}

/** With any other exit code, the command would seem to have ended. */
export function endOfTest(error: unknown): unknown {
  const isOwn = error instanceof Ending || (error instanceof DevloopError && OF_COMMAND.includes(error.code));
  return isOwn ? error : new Ending(FAILED_FIRST, error);
}

const FAILED_FIRST = 125;
const OF_COMMAND: ErrorCode[] = ['test.not-found', 'test.not-executable'];
