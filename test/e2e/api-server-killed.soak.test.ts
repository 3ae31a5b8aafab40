/** kube-apiserver itself is killed while a session begins or ends; it is back seconds later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { traces } from '../cluster/traces.ts';
import { account } from '../support/account.ts';
import { type DevloopRun, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { askHook } from '../support/hook-operator.ts';
import { repeat } from '../support/repeat.ts';

/** Longer than a session takes to begin or to end on a hollow node. */
const MOMENTS_MS = 2_000;
/** devloop does not wait for a server that has never answered. */
const FIRST_CALL_MS = 400;
/** The number of rounds does not divide it, so each round hits another moment. */
const STEP_MS = 230;
/** Kubernetes' controllers wait up to half a minute before they call it again. */
const CONTROLLERS_MS = 60_000;
const LIMIT_MS = 240_000;

let operator: HollowOperator;
/** For a user with roles, which kube-apiserver has to read before it knows what they allow. */
let kubeconfig: string;

beforeAll(async () => {
  operator = await sharedHollowOperator();
  const all = ['*'];
  kubeconfig = await account(operator.cluster, 'somebody', [{ apiGroups: all, resources: all, verbs: all }]);
});

function start(args: string[]): DevloopRun {
  return startDevloop(args, { cwd: operator.directory, env: { KUBECONFIG: kubeconfig } });
}

/** It starts again at once, but needs a few seconds. */
function killApiServer(): void {
  const { processes } = traces(operator.cluster.dir);
  const server = processes.find(({ command }) => / kube-apiserver .*--etcd-servers/.test(command));
  process.kill(server!.pid, 'SIGKILL');
}

async function killedAfter(index: number): Promise<void> {
  await sleep(FIRST_CALL_MS + ((index * STEP_MS) % MOMENTS_MS));
  killApiServer();
}

async function expectWhole(): Promise<void> {
  await operator.expectRestored(CONTROLLERS_MS);
  await eventually(() => Promise.all(['first', 'second'].map((name) => askHook(operator.cluster, name))));
}

it('down goes on when kube-apiserver is back', async () => {
  await repeat(
    'kube-apiserver killed during down',
    { soak: 10, quick: 0, limitMs: LIMIT_MS },
    async (index) => {
      await using up = start(operator.up);
      await up.waitFor('session.ready');
      up.signal('SIGKILL');
      await up.exited;
      await using down = start(['down']);
      await killedAfter(index);
      expect(await down.exited, down.log()).toBe(0);
      await expectWhole();
    },
  );
});

it('up restores everything at its end when kube-apiserver is back', async () => {
  await repeat(
    'kube-apiserver killed during the end of up',
    { soak: 10, limitMs: LIMIT_MS },
    async (index) => {
      await using up = start(operator.up);
      await up.waitFor('session.ready');
      up.signal('SIGINT');
      await killedAfter(index);
      expect(await up.exited, up.log()).toBe(130);
      expect(up.events.filter(({ type }) => type === 'error')).toEqual([]);
      await expectWhole();
    },
  );
});

it('up begins all the same, or ends with the cause, and leaves nothing behind', async () => {
  await repeat(
    'kube-apiserver killed during the beginning of up',
    { soak: 10, quick: 0, limitMs: LIMIT_MS },
    async (index) => {
      await using up = start(operator.up);
      await killedAfter(index);
      await up.waitFor('session.ready').then(
        () => up.signal('SIGINT'),
        () => undefined,
      );
      const code = await up.exited;
      if (code !== 130)
        expect(up.events.at(-1), up.log()).toMatchObject({
          type: 'error',
          message: expect.stringMatching(/\S/),
        });
      expect(up.log()).not.toContain('This is a bug');
      await expectWhole();
    },
  );
});
