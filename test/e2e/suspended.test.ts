/** A suspended `up` answers nothing and gets no signal: `down` continues it, and it restores everything. */
import { tmpdir } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { BIN, runDevloop, startDevloop, YES } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { openTerminal } from '../support/terminal.ts';

const CTRL_Z = '\x1a';

let operator: HollowOperator;

beforeAll(async () => {
  operator = await sharedHollowOperator();
});

const env = (): Record<string, string> => ({ KUBECONFIG: operator.cluster.kubeconfig, TERM: 'xterm' });

async function down(): Promise<void> {
  const { code, events, log } = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
  expect(code, log).toBe(0);
  expect(events.at(-1), log).toMatchObject({ type: 'session.restored' });
  await operator.expectRestored();
}

it('down ends an up that SIGSTOP has suspended', async () => {
  await using up = startDevloop(operator.up, { cwd: operator.directory, env: env() });
  await up.waitFor('session.ready');
  up.signal('SIGSTOP');
  await down();
  expect(await up.exited, up.log()).toBe(130);
  expect(up.events.at(-1)).toMatchObject({ type: 'session.restored' });
});

it('Ctrl-Z says what it means, and down ends the up in the background of its terminal', async () => {
  const [command = '', ...args] = operator.up;
  const words = [process.execPath, BIN, command, YES, ...args].map((word) => `'${word}'`);
  const script = `set -m; ${words.join(' ')}; echo suspended; read typed`;
  await using terminal = openTerminal('exec bash -c "$SCRIPT"', {
    cwd: operator.directory,
    env: { ...env(), SCRIPT: script },
  });
  const shows = (text: string): Promise<void> =>
    eventually(async () => expect(terminal.shown()).toContain(text), 60_000);
  await shows('● serving');
  terminal.type(CTRL_Z);
  await shows('suspended\r');
  expect(terminal.shown()).toContain('answers no reviews');
  await down();
  terminal.type('\r');
  await terminal.closed;
});
