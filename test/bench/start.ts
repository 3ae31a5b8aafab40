import { BIN } from '../support/devloop.ts';
import { report } from './figures.ts';
import { timeCommands } from './measure.ts';

const START_ROUNDS = 20;

/** How long devloop takes to print something, against an empty Node. */
export async function startFigures(): Promise<void> {
  const node = process.execPath;
  const times = timeCommands(
    { node: [node, '-e', '0'], version: [node, BIN, '--version'], help: [node, BIN, '--help'] },
    START_ROUNDS,
  );
  const anchor = { name: 'node -e 0', value: times.node! };
  report({ name: 'devloop --version', ours: times.version!, unit: 'ms', anchor, goal: { most: 1.1 } });
  report({ name: 'devloop --help', ours: times.help!, unit: 'ms', anchor, goal: { most: 1.5 } });
}
