import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noCheckoutFacts } from '../../../src/checkout/facts.ts';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { AGAIN } from '../../../src/errors.ts';
import type { Reconciler, Target } from '../../../src/operator/target.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { CommandContext } from '../../../src/session/context/context.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import type { Io, UpOptions } from '../../../src/session/context/options.ts';
import type { Question } from '../../../src/session/context/question.ts';
import { agreeTo, plannedConsent, questionFor } from '../../../src/session/start/consent.ts';
import type { UpCommand } from '../../../src/session/start/session.ts';
import { partly } from '../../support/partly.ts';
import { directoryWith } from '../controller/support/places.ts';

const HOOKS = { kind: 'Service', namespace: 'shop', name: 'hooks' } as const;
const STRANGER = { kind: 'Deployment', namespace: 'bank', name: 'ledger' } as const;
const suspect: Reconciler = {
  ref: STRANGER,
  object: partly<Workload>({ metadata: STRANGER, spec: {} }),
  evidence: { wrote: HOOKS, writer: 'ledger' },
};
const PROD = { id: 'uid 1', context: 'prod', server: 'https://prod' };
const KIND = { ...PROD, tool: 'kind' };
const question = (more: Partial<Question> = {}): Question => ({
  cluster: PROD,
  taken: ['Service shop/hooks', 'Deployment shop/manager'],
  chosen: [],
  circumstances: [],
  reconcilers: [],
  ...more,
});

/** One user on one machine, who answers each question in the same way. */
async function user(answer?: boolean) {
  const asked: string[] = [];
  const machine = await thisMachine({ XDG_STATE_HOME: await directoryWith({}) });
  const confirm = async (text: string): Promise<boolean> => {
    asked.push(text);
    return answer!;
  };
  const { signal } = new AbortController();
  const notes: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void (event.type === 'note' && notes.push(event));
  const io = partly<Io>({ emit, signal, ...(answer !== undefined && { confirm }) });
  const command = (options: Partial<UpOptions>): UpCommand =>
    partly<UpCommand>({ machine, io, options: { yes: false, given: {}, ...options } });
  return {
    ...{ asked, notes },
    up: (
      questions: Question | [Question, ...Question[]],
      options: Partial<UpOptions> = {},
      before?: Question,
    ) => agreeTo(Array.isArray(questions) ? questions : [questions], command(options), before),
    plan: (one: Question, options: Partial<UpOptions> = {}) => plannedConsent(command(options), one),
  };
}

test('a cluster is asked about once for each object that is taken over there', async () => {
  const { asked, up } = await user(true);
  await up(question());
  await up(question());
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatch(/prod.*https:\/\/prod[\s\S]*Service shop\/hooks\n.*Deployment shop\/manager/);
  // The same Service selects another Deployment now.
  await up(question({ taken: ['Service shop/hooks', 'Deployment shop/database'] }));
  expect(asked[1]).toContain('Deployment shop/database');
  expect(asked[1]).not.toContain('shop/manager');
  await up(question({ cluster: { ...PROD, id: 'uid 2' } }));
  expect(asked).toHaveLength(3);
});

test('--context and --yes agree to the cluster, which is remembered', async () => {
  for (const flag of [{ yes: true }, { given: { context: 'prod' } }]) {
    const { asked, up } = await user(true);
    await up(question(), flag);
    await up(question());
    expect(asked).toEqual([]);
  }
});

test('a cluster of kind needs no agreement, and none is remembered', async () => {
  const { up } = await user();
  await up(question({ cluster: KIND }));
  await expect(up(question())).rejects.toMatchObject({ code: 'consent.missing' });
});

test('without a terminal, the error names the flags; after a no, nothing is remembered', async () => {
  for (const answer of [undefined, false]) {
    const { up } = await user(answer);
    for (let time = 0; time < 2; time++)
      await expect(up(question())).rejects.toMatchObject({
        code: 'consent.missing',
        exitCode: 2,
        message: expect.stringContaining('Deployment shop/manager'),
        hint: expect.stringMatching(`${AGAIN} --yes\n.*${AGAIN} --context prod`),
      });
  }
});

test('what managedFields names is paused only if the user agrees to that Deployment, in any cluster', async () => {
  for (const trusted of [{ cluster: KIND }, { taken: [] }]) {
    const { up } = await user();
    const suspicious = question({ ...trusted, reconcilers: [suspect] });
    for (const flags of [{}, { yes: true }, { given: { context: 'prod' } }])
      await expect(up(suspicious, flags)).rejects.toMatchObject({
        code: 'consent.missing',
        message: expect.stringMatching(/bank\/ledger.*Service shop\/hooks.*managedFields: ledger/),
        hint: expect.stringMatching(`: ${AGAIN} --also-pause bank/ledger\n.*: ${AGAIN} --also-pause none$`),
      });
    await up({ ...suspicious, reconcilers: [{ ...suspect, isNamed: true }] });
    await up(suspicious);
  }
});

test('what devloop.yaml names is asked about once, in any cluster, and --yes is no answer', async () => {
  const { evidence: _, ...named } = { ...suspect, namedIn: '/shop/devloop.yaml' };
  const settings = question({ cluster: KIND, reconcilers: [named] });
  const script = await user();
  await expect(script.up(settings, { yes: true })).rejects.toMatchObject({
    code: 'consent.missing',
    message: expect.stringMatching(/devloop\.yaml.*bank\/ledger/),
    hint: expect.stringMatching(`: ${AGAIN} --also-pause bank/ledger\n.*: ${AGAIN} --also-pause none$`),
  });
  const { asked, up } = await user(true);
  await up(settings);
  await up(settings);
  expect(asked).toEqual([expect.stringContaining('bank/ledger')]);
});

test('the suggested flags repeat what devloop.yaml names, once that is agreed to', async () => {
  const { up } = await user();
  const named = { ...suspect, ref: { ...STRANGER, name: 'hub' }, namedIn: '/shop/devloop.yaml' };
  await up(question({ reconcilers: [{ ...named, isNamed: true }] }), { yes: true });
  await expect(up(question({ reconcilers: [named, suspect] }), { yes: true })).rejects.toMatchObject({
    hint: [
      `If that is right: ${AGAIN} --also-pause bank/hub --also-pause bank/ledger`,
      `To leave it running: ${AGAIN} --also-pause bank/hub --also-pause none`,
    ].join('\n'),
  });
});

test('the suggested flags repeat what the user has named, which they would replace otherwise', async () => {
  const { up } = await user();
  const named = { ...suspect, ref: { ...STRANGER, name: 'hub' }, isNamed: true as const };
  await expect(up(question({ reconcilers: [named, suspect] }), { yes: true })).rejects.toMatchObject({
    hint: [
      `If that is right: ${AGAIN} --also-pause bank/hub --also-pause bank/ledger`,
      `To leave it running: ${AGAIN} --also-pause bank/hub --also-pause none`,
    ].join('\n'),
  });
});

test('taking a Deployment over is no agreement to pausing it beside another manager', async () => {
  const { up } = await user();
  await up(question({ taken: ['Deployment bank/ledger'] }), { yes: true });
  await expect(up(question({ reconcilers: [suspect] }), { yes: true })).rejects.toMatchObject({
    code: 'consent.missing',
  });
});

test('both questions are one, and so are those of several Deployments', async () => {
  const { asked, up } = await user(true);
  const second = question({ taken: ['Deployment shop/second'], reconcilers: [suspect] });
  await up([question(), second]);
  await up([second, question()]);
  expect(asked).toHaveLength(1);
  for (const name of ['shop/manager', 'shop/second', 'bank/ledger']) expect(asked[0]).toContain(name);
});

test('the dry run shows what would be asked, and asks nothing', async () => {
  const { asked, plan } = await user(true);
  const facts = expect.stringMatching(/shop\/hooks[\s\S]*bank\/ledger/);
  expect(plan(question({ reconcilers: [suspect] }))).toMatchObject([
    { code: 'consent.would-ask', values: { facts, flags: '--yes --also-pause bank/ledger' } },
  ]);
  expect(plan(question(), { yes: true })).toEqual([]);
  expect(asked).toEqual([]);
});

test('a context that only devloop.yaml names, and an operator elsewhere in the repository, are part of the question', async () => {
  const root = await directoryWith({
    'shop/main.go': 'package main\nvar path = "/validate-shop-example-com-v1-order"',
  });
  await mkdir(join(root, 'docs'));
  const call = { path: '/validate-shop-example-com-v1-order', groups: [], from: HOOKS };
  const service = { service: partly<Service>({ metadata: HOOKS, spec: {} }), calls: [call] };
  const target = partly<Target>({ services: [service], namespace: 'shop' });
  const asked = async (cwd: string, more: object = {}): Promise<Question> => {
    const api = { context: 'prod', server: 'https://prod' };
    const context = partly<CommandContext>({ api, root, cwd, ...more });
    const facts = { ...noCheckoutFacts(), startedIn: cwd };
    return await questionFor(context, { id: 'uid 1' }, { target, facts });
  };
  expect(await asked(join(root, 'shop'))).toMatchObject({ taken: ['Service shop/hooks'], circumstances: [] });
  const settings = { insteadOf: 'staging', settingsFile: `${root}/devloop.yaml` };
  const { taken, chosen, circumstances } = await asked(join(root, 'docs'), settings);
  expect(chosen).toEqual([expect.stringMatching(/context prod.*devloop\.yaml.*staging/)]);
  expect(circumstances).toEqual([expect.stringContaining('docs')]);
  // That devloop.yaml chooses the cluster is another matter than the cluster, even if it is one of kind.
  for (const cluster of [PROD, KIND]) {
    const { asked: shown, up } = await user(true);
    await up(question({ cluster, taken }), { yes: true });
    await up(question({ cluster, taken, chosen }));
    await up(question({ cluster, taken, chosen }));
    expect(shown).toEqual([expect.stringContaining('devloop.yaml')]);
  }
});

test('Ctrl-C ends the question, and says no more than that nothing was taken over', async () => {
  const ending = new AbortController();
  const confirm = (): Promise<boolean> => {
    ending.abort();
    return new Promise(() => {});
  };
  const io = { emit: () => {}, signal: ending.signal, confirm };
  const machine = await thisMachine({ XDG_STATE_HOME: await directoryWith({}) });
  const command = partly<UpCommand>({ machine, io, options: { yes: false, given: {} } });
  await expect(agreeTo([question()], command)).rejects.toMatchObject({
    code: 'interrupted',
    message: expect.stringContaining('taken over'),
  });
});

test('what else is paused is said once, also if it is found only after another session was restored', async () => {
  const { notes, up } = await user(true);
  const hub = { ...suspect, ref: { ...STRANGER, name: 'hub' } };
  const before = question({ reconcilers: [suspect] });
  await up(before);
  await up(question({ reconcilers: [suspect, hub] }), {}, before);
  expect(notes).toMatchObject([
    { code: 'pause.also', values: { ref: suspect.ref } },
    { code: 'pause.also', values: { ref: hub.ref } },
  ]);
});
