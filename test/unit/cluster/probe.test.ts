import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { KubeObject, WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import { createProber, type Prober } from '../../../src/cluster/takeover/probe.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';

const CONFIGURATION = 'ValidatingWebhookConfiguration';
const language = {
  path: (nonce: string) => `/${nonce}`,
  read: (answer: string) => ({ nonce: /gateway (\w+)/.exec(answer)?.[1] ?? '', session: 's1' }),
};

let cluster: ReturnType<typeof fakeCluster>;
/** The webhooks that kube-apiserver knows. */
let known: NonNullable<WebhookConfiguration['webhooks']>;
let answers: 'allows everything' | 'gateway' | 'nothing';

function learn(): void {
  const [name] = cluster.names(CONFIGURATION);
  known = cluster.read<WebhookConfiguration>(CONFIGURATION, name!)!.webhooks!;
}

beforeEach(() => {
  known = [];
  answers = 'allows everything';
  cluster = fakeCluster();
  // Decides about a dry run as kube-apiserver does.
  cluster.hook.before = (verb, what) => {
    if (verb !== 'create' || !what.startsWith('ConfigMap')) return;
    const probe = what.replace(/^.*devloop-probe-/, '');
    const asked = known.find(
      ({ objectSelector }) => objectSelector?.matchLabels?.['devloop.dev/probe'] === probe,
    );
    const [condition] = (asked?.matchConditions ?? []) as { expression: string }[];
    if (condition)
      throw refusal(403, 'Forbidden', `expression '${condition.expression}' resulted in error: no such key`);
    if (asked && answers === 'nothing')
      throw refusal(
        500,
        'InternalError',
        `failed calling webhook "${asked.name}": failed to call webhook: Post "https://hook": context deadline exceeded`,
      );
    if (asked && answers === 'gateway')
      throw refusal(
        403,
        'Forbidden',
        `admission webhook "${asked.name}" denied the request: gateway ${probe}`,
      );
  };
  // A dry run stores nothing.
  cluster.hook.after = (verb, what) => {
    if (verb === 'create' && what.startsWith('ConfigMap'))
      cluster.drop('ConfigMap', what.replace(/^.*\//, ''), 'shop');
  };
});

function prober(): Promise<Prober> {
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  return createProber({ namespace: 'shop', service: 'hook', port: 443, caBundle: '' }).apply(work, language);
}

it('a probe that nobody refuses says nothing until kube-apiserver knows it; then somebody has allowed it', async () => {
  await using probes = await prober();
  expect(await probes.once()).toMatchObject({ pending: true });
  learn();
  expect(await probes.once()).toMatchObject({ pending: true });
  expect(await probes.once()).toMatchObject({ pending: false, cause: expect.stringContaining('allowed it') });
});

it('a server that allows everything does not keep the connection over which the gateway has to be asked', async () => {
  await using probes = await prober();
  learn();
  const before = known;
  await probes.once();
  await probes.once();
  answers = 'gateway';
  // New paths, since kube-apiserver keeps the connection of a path.
  await probes.once();
  learn();
  expect(known.map(({ name }) => name)).not.toEqual(before.map(({ name }) => name));
  expect(await probes.once()).toMatchObject({ reached: true });
});

it('a configuration that another session deletes ends the session, which is then lost', async () => {
  await using probes = await prober();
  learn();
  answers = 'nothing';
  await probes.once();
  const [name] = cluster.names(CONFIGURATION);
  cluster.drop(CONFIGURATION, name!);
  await expect(probes.once()).rejects.toMatchObject({
    code: 'session.lost',
    message: expect.stringContaining(name!),
  });
});

it('one object asks for all others, each of which has to answer with a warning', async () => {
  const { create } = cluster.api;
  let warned = (nonces: string[]): string[] => nonces;
  cluster.api.create = async (ref, object, options) => {
    const label = (object as KubeObject).metadata.labels?.['devloop.dev/probe'];
    const nonces = known.flatMap(({ name, objectSelector }) =>
      objectSelector?.matchExpressions?.some(({ values }) => values?.includes(label!))
        ? [name.split('.')[0]!]
        : [],
    );
    for (const nonce of warned(nonces)) options?.onWarning?.(`gateway ${nonce}`);
    return await create(ref, object, options);
  };
  const target = { namespace: 'shop', service: 'hook', port: 443, caBundle: '', count: 4 };
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  await using probes = await createProber(target).apply(work, language);
  expect(await probes.reachesTogether()).toBe(false);
  learn();
  expect(await probes.reachesTogether()).toBe(true);
  warned = ([, ...most]) => most;
  expect(await probes.reachesTogether()).toBe(false);
  warned = () => [];
  expect(await probes.reachesTogether()).toBe(false);
});

it('a configuration that kube-apiserver has missed is written again, with the same paths', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await using probes = await prober();
  learn();
  const missed = known;
  known = [];
  answers = 'gateway';
  cluster.onChange = ({ type }) => {
    if (type === 'MODIFIED') learn();
  };
  expect(await probes.once()).toMatchObject({ pending: true });
  vi.advanceTimersByTime(900);
  expect(await probes.once()).toMatchObject({ pending: true });
  vi.advanceTimersByTime(200);
  expect(await probes.once()).toMatchObject({ reached: true });
  expect(known).toEqual(missed);
});

it('a call that hangs takes a second only, and the next one more, since the route may be slow', async () => {
  await using probes = await prober();
  const seconds = async (): Promise<(number | undefined)[]> => {
    learn();
    const limits = known.map(({ timeoutSeconds }) => timeoutSeconds);
    await probes.once();
    return limits;
  };
  answers = 'nothing';
  const rounds = [await seconds()];
  // The webhooks of the next round are written by its first probe.
  for (let round = 0; round < 4; round++) {
    await probes.once();
    rounds.push(await seconds());
  }
  expect(rounds.map(([first]) => first)).toEqual([1, 2, 3, 3, 3]);
});
