import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevloopEvent } from '../../src/report/events.ts';
import { startCluster } from '../cluster/cluster.ts';
import { runDevloop } from '../support/devloop.ts';
import { application, checkoutSample, deploySample } from '../support/sample-operator.ts';
import { note, report } from './figures.ts';
import { median } from './measure.ts';
import { testFigure } from './test-command.ts';

type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

/** `devloop test` without anything to do; and a run of `crashtest` with a crash, against a start of the controller and a run without a crash: the command, its reconciles and the quiet time. */
export async function crashtestFigures(): Promise<void> {
  await using cluster = await startCluster({ log: (line) => console.error(line) });
  await deploySample(cluster);
  await using checkout = await checkoutSample();
  const { directory: cwd } = checkout;
  await writeFile(join(cwd, 'web.yaml'), application('web', 'example.com/shop:1'));
  const env = { KUBECONFIG: cluster.kubeconfig, CGO_ENABLED: '0' };
  await testFigure(cluster, { cwd, env });
  const command = ['kubectl', 'apply', '-f', 'web.yaml'];
  const { code, events, log } = await runDevloop(['crashtest', '--yes', '--', ...command], { cwd, env });
  if (code !== 0) throw new Error(`devloop crashtest ended with ${code}:\n${log}`);
  const all = <T extends DevloopEvent['type']>(type: T) =>
    events.filter((event): event is Of<T> => event.type === type);
  const rounds = all('crashtest.round').map(({ round }) => round.ms);
  const start = all('controller.ready')[0]!.ms;
  const alone = all('crashtest.undisturbed')[0]!.ms;
  note(`start of the controller ${start} ms, a run without a crash ${alone} ms, ${rounds.length} crashes`);
  report({
    name: 'a run of crashtest with a crash, and its reset',
    ours: median(rounds),
    unit: 'ms',
    anchor: { name: 'start + a run without a crash', value: start + alone },
    goal: { most: 1.2 },
  });
}
