import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { noCheckoutFacts } from '../../../src/checkout/facts.ts';
import { Checkout } from '../../../src/checkout/files.ts';
import { recordProcess } from '../../../src/controller/orphan.ts';
import { planProgram } from '../../../src/local/program.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { requireControllerPort } from '../../../src/session/context/controller-port.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory, processRecord } from '../../../src/session/context/session-directories.ts';
import type { DoctorRun } from '../../../src/session/doctor/check.ts';
import { portCheck } from '../../../src/session/doctor/port.ts';
import { requireManagerPort, verifySet } from '../../../src/session/verify.ts';
import { freePort } from '../../support/free-port.ts';
import { partly } from '../../support/partly.ts';
import { controllerOf, settingsOf } from '../../support/settings.ts';
import { inputs } from '../local/support/inputs.ts';

const SET = { checkout: '/shop', name: 'create-web' };
const LISTEN = "require('node:net').createServer().listen(+process.argv[1], () => console.log('listens'))";

let state: string;
let env: Record<string, string>;
let port: number;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'state-'));
  env = { XDG_STATE_HOME: state };
  port = await freePort();
});
afterEach(() => rm(state, { recursive: true }));

/** A process on the port, in a process group of its own. */
async function listener() {
  const child = spawn(process.execPath, ['-e', LISTEN, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  await once(child.stdout, 'data');
  return {
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

async function session(checkout: string, pid: number): Promise<string> {
  const directory = await claimDirectory(await thisMachine(env), 'abcd1234', { checkout });
  recordProcess(processRecord(directory, 'controller'), { pid, startTime: startTimeOf(pid)!, command: [] });
  return directory;
}

const refused = (message: string, hint: RegExp): object => ({
  code: 'port.in-use',
  message: expect.stringContaining(message),
  hint: expect.stringMatching(hint),
});

it('a free port is fine', async () => {
  await requireManagerPort(port, SET, env);
});

it.each([
  ['of this checkout', '/shop', /devloop reviews replay --set create-web$/],
  ['of another one', '/other', /\/other.*devloop reviews verify create-web$/],
])('names the session %s, and ends nothing', async (_, checkout, hint) => {
  await using controller = await listener();
  await session(checkout, controller.pid);
  await expect(requireManagerPort(port, SET, env)).rejects.toMatchObject(refused('session abcd1234', hint));
});

it('up names the session, too, instead of a process to kill, unless it ends that controller first', async () => {
  await using controller = await listener();
  await session('/other', controller.pid);
  const machine = await thisMachine(env);
  await expect(requireControllerPort(port, machine)).rejects.toMatchObject(
    refused('session abcd1234', /\/other.*devloop down$/),
  );
  await requireControllerPort(port, machine, [controller.pid]);
});

it('doctor names the session, too, instead of a process to kill', async () => {
  await using controller = await listener();
  await session('/other', controller.pid);
  const operator = Promise.resolve({
    target: { services: [{ ports: [{ targetPort: port }] }] },
    refusals: [],
  });
  const run = partly<DoctorRun>({ operator, machine: await thisMachine(env) });
  const checked = portCheck.run(run, new AbortController().signal);
  await expect(checked).rejects.toMatchObject(refused('session abcd1234', /\/other.*devloop down$/));
});

it('doctor warns where up would have the controller listen on another port', async () => {
  await using _other = await listener();
  const { api, target } = inputs();
  target.services[0]!.ports[0]!.targetPort = port;
  target.manager!.container.env!.push({ name: 'WEBHOOK_PORT', value: String(port) });
  const io = { emit: () => {}, signal: new AbortController().signal, env, cwd: state };
  const facts = noCheckoutFacts();
  const settings = controllerOf({ run: ['sh', '-c', 'exec server --port=$WEBHOOK_PORT'] });
  const program = planProgram(
    { ...facts, target, checkout: new Checkout(state), settings, directory: state },
    io,
  );
  const run = partly<DoctorRun>({
    settings: settingsOf(),
    machine: await thisMachine(env),
    io,
    program,
    operator: Promise.resolve({ target, facts, refusals: [] }),
    context: Promise.resolve({
      api,
      settings: settingsOf(),
      root: state,
      checkout: new Checkout(state),
      wanted: { services: ['shop/hook'] },
    }),
  });
  expect(await portCheck.run(run, new AbortController().signal)).toMatchObject([
    { verdict: 'warn', proof: [`WEBHOOK_PORT=${port} names the port`] },
  ]);
});

it('names any other process, also beside a session that uses another port', async () => {
  await using other = await listener();
  await session('/shop', process.pid);
  await expect(requireManagerPort(port, SET, env)).rejects.toMatchObject(
    refused(`process ${other.pid}`, /devloop reviews verify create-web$/),
  );
});

it('verify needs every port of the set: reviews would reach whatever listens there', async () => {
  await using _other = await listener();
  const records = [await freePort(), port].map((one) => ({ path: '/w', port: one }) as ReviewRecord);
  const set = { ...SET, checkout: state, records, withSideEffects: false };
  const io = { emit: () => {}, signal: new AbortController().signal, env, cwd: state };
  await expect(verifySet(set, io)).rejects.toMatchObject(refused(`port ${port}`, /create-web$/));
});
