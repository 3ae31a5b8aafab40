import { setTimeout as sleep } from 'node:timers/promises';
import { openApi } from '../cluster/api.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';

export const STRANGER = 'stranger';
const EVERY_MS = 50;
const SECRET = 'victim';
const EVIL = 'evil.example.com/image';

/** Somebody who has all rights, but whose changes the operator refuses, tries the same changes again and again. */
export interface Attack extends AsyncDisposable {
  /** Gives the Secret that the stranger wants to delete the label of a session. */
  label(sessionId: string): Promise<void>;
  /** Ends the attack; resolves to the changes that were admitted, and the number of those that were refused. */
  end(): Promise<{ admitted: string[]; refused: number }>;
}

/** Attacks the Deployment `manager`, its ReplicaSets, and a Secret. */
export async function startAttack(cluster: TestCluster, namespace: string): Promise<Attack> {
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/manager`;
  await cluster.call('POST', secrets, { metadata: { name: SECRET } });
  const api = await openApi(await cluster.kubeconfigFor(STRANGER, ['system:masters']));
  const image = [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: EVIL }];
  const changes: [what: string, change: () => Promise<unknown>][] = [
    ['image', () => api.call('PATCH', deployment, image)],
    ['secret', () => api.call('DELETE', `${secrets}/${SECRET}`)],
  ];
  const admitted: string[] = [];
  let refused = 0;
  let isOver = false;
  // One try at a time: kube-apiserver repeats each call that the webhook does not answer.
  const attacking = changes.map(async ([what, change]) => {
    while (!isOver) {
      await change().then(
        () => void admitted.push(what),
        () => void refused++,
      );
      await sleep(EVERY_MS);
    }
  });
  const end = async (): ReturnType<Attack['end']> => {
    isOver = true;
    await Promise.all(attacking);
    return { admitted, refused };
  };
  return {
    end,
    label: (sessionId) =>
      eventually(async () => {
        const metadata = { labels: { 'devloop.dev/session': sessionId } };
        await cluster.call('PATCH', `${secrets}/${SECRET}`, { metadata });
      }),
    async [Symbol.asyncDispose]() {
      await end();
      api[Symbol.dispose]();
      await cluster.call('DELETE', `${secrets}/${SECRET}`).catch(() => {});
    },
  };
}
