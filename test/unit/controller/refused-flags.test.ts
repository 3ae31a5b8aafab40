import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { refusedArgument } from '../../../src/controller/refused-flags.ts';
import { type ControllerPlan, createSupervisor } from '../../../src/controller/supervisor.ts';
import { recordEvents } from './support/events.ts';
import { directoryWith } from './support/places.ts';

test.each([
  ['pflag', 'Error: unknown flag: --leader-elect', true],
  ["Go's flag package", 'flag provided but not defined: -leader-elect', true],
  ['kingpin', "shop: error: unknown long flag '--leader-elect', try --help", true],
  ['nobody', 'unknown flag: --leader-elect-id', false],
])('a flag that %s does not know', (_, line, isRefused) => {
  const added = ['--metrics-addr=:0', '--leader-elect=false'];
  const expected = isRefused ? '--leader-elect=false' : undefined;
  expect(refusedArgument(added, ['usage:', line, 'goodbye'])).toBe(expected);
});

/** A program with two commands, of which only one elects a leader. */
const PROGRAM = `case "$*" in
  *--leader-elect*) echo "Error: unknown flag: --leader-elect" >&2; exit 1 ;;
esac
echo "runs with $*"
exec sleep 60`;

async function start(added: string[], given: string[] = []) {
  const cwd = await directoryWith();
  const plan: ControllerPlan = {
    ...{ cwd, build: undefined, env: { PATH: process.env.PATH! }, hidden: new Map(), rivals: [] },
    run: ['sh', '-c', PROGRAM, 'sh', 'serve', ...given, ...added],
    ...{ asksForRestart: true, webhook: undefined, watch: undefined, graceMs: 1000, readyMs: 5000 },
    ...{ stateFile: join(cwd, 'controller.json'), added },
  };
  const recorder = recordEvents();
  const supervisor = createSupervisor(plan, { emit: recorder.emit, signal: new AbortController().signal });
  onTestFinished(() => supervisor[Symbol.asyncDispose]());
  return { recorder, supervisor, plan, starting: supervisor.start() };
}

test('an added argument whose flag the program does not know is left out', async () => {
  const { recorder, supervisor, plan, starting } = await start(['--leader-elect=false', '--metrics-addr=:0']);
  await starting;
  const lines = recorder.all('controller.output').map(({ line }) => line);
  expect(lines.at(-1)).toBe('runs with serve --metrics-addr=:0');
  const notes = recorder.all('note').map(({ message }) => message);
  expect(notes).toEqual([expect.stringContaining('--leader-elect=false\n')]);
  // Also from the facts with which a new version of the manager is planned.
  void supervisor.follow();
  supervisor.runWith({ ...plan, run: [...plan.run, '--new'] });
  supervisor.restart();
  const again = 'runs with serve --metrics-addr=:0 --new';
  await recorder.waitFor('controller.output', ({ line }) => line === again);
});

test("one of the manager's own arguments is not", async () => {
  const { starting } = await start(['--metrics-addr=:0'], ['--leader-elect=true']);
  await expect(starting).rejects.toMatchObject({ code: 'controller.exited' });
});
