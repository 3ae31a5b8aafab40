import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiProxy, openApiProxy } from '../../api-proxy/proxy.ts';
import { pollUntil, sleep } from '../../async.ts';
import { isFree, writeKeyPair } from '../../certificates/files.ts';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import type { CheckoutFacts } from '../../checkout/facts.ts';
import type { Checkout } from '../../checkout/files.ts';
import { isKubeconfigFlag } from '../../checkout/flags.ts';
import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import { controllerSettings, type Settings } from '../../config/merge.ts';
import { isOfStack } from '../../controller/log-level.ts';
import { answersTls } from '../../controller/readiness.ts';
import { createSupervisor } from '../../controller/supervisor.ts';
import { DevloopError } from '../../errors.ts';
import { askForHandlers } from '../../gateway/unserved-paths.ts';
import { checkoutFacts } from '../../languages.ts';
import { admitBy } from '../../local/api-access.ts';
import { type LocalFiles, localFiles, recordOutside, removeLocalFiles } from '../../local/key-pair-files.ts';
import { writeNeededFiles } from '../../local/mounts.ts';
import { type ControllerInputs, type PlannedController, planController } from '../../local/plan.ts';
import { readsOneFile } from '../../local/plan-kubeconfig.ts';
import type { Target, TargetManager } from '../../operator/target.ts';
import { shortened } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { USE_AN_API_SERVER } from '../../report/notices/verify.ts';
import type { Io } from '../context/options.ts';
import { processRecord, verifyDirectory } from '../context/session-directories.ts';
import { keptProgram } from '../start/controller.ts';
import { type DeployedManager, deployedManager } from './deployed.ts';
import type { ApiServer } from './no-cluster.ts';

/** What to start, and how to see that it serves. */
export interface ManagerWanted {
  checkout: Checkout;
  settings: Settings;
  /** The paths of its webhooks, and the ports on which they are served. */
  webhooks: { path: string; port: number }[];
  /** The main package whose program answered the set, if the set names it. */
  recordedPackage?: string;
  /** Variables of its Deployment that the user has not set. */
  variables?: Record<string, string>;
  readySeconds: number;
}

/** A manager of the checkout that runs against an API server without a take-over, with a key pair of its own. */
export interface RunningManager extends AsyncDisposable {
  /** The id of the build, as it is shown. */
  build: string | undefined;
}

const DEFAULT_DIRECTORY = '/tmp/k8s-webhook-server/serving-certs';
const NAME = 'webhook';
const NAMESPACE = 'default';
const REGISTERED_MS = 2_000;
/** How many lines of a manager that never serves are shown. */
const MOST_LINES = 10;
/** A line of a stack as Go prints it: a function, or below it the file. */
/** A log line can contain a whole stack. */
const LONGEST_LINE = 300;
/** The share of the time to get ready that a manager gets after the stand-in has refused it something. */
const PATIENCE = 1 / 3;

/**
 * Builds the manager, starts it, and waits until its webhooks are served. Throws 'controller.build-failed', 'controller.exited' and others,
 * like `up`.
 */
export async function startManager(
  wanted: ManagerWanted,
  server: ApiServer,
  io: Io,
): Promise<RunningManager> {
  await using started = new AsyncDisposableStack();
  const directory = await verifyDirectory(wanted.checkout.root, io.env);
  started.defer(() => removeLocalFiles(directory));
  const files = localFiles(directory, { startsController: true });
  await mkdir(join(directory, 'tmp'), { mode: 0o700 });
  const api = started.use(await connect(await server.select(directory)));
  let build: string | undefined;
  const said: string[] = [];
  const emit: Emit = (event) => {
    if (event.type === 'controller.started') build = event.build;
    if (event.type === 'controller.output' && !isOfStack(event.line)) said.push(event.line);
    said.splice(0, said.length - MOST_LINES);
    // A manager whose API server is empty logs errors about that again and again.
    if (event.type !== 'controller.output' && event.type !== 'controller.exited') io.emit(event);
  };
  const facts = await checkoutFacts(wanted.checkout);
  const deployed = server.isNamed ? await deployedManager(api, { facts, ...wanted }, io) : undefined;
  const opened = started.use(await oneFileProxy(wanted, server, { api, facts }));
  const proxy = opened && { ...opened, directory: join(files.directory, 'access') };
  const namespace = targetOf(wanted.webhooks, deployed?.manager).namespace;
  if (proxy) admitBy(proxy.directory, proxy, { pinned: api.pinned, namespace });
  const own = { files, api, proxy, hasOwnKubeconfig: !server.isNamed };
  const planned = await plan(wanted, { ...own, facts, deployed }, { ...io, emit });
  await writeNeededFiles(planned.needed);
  await writeOwnPair(files, planned.hardCoded);
  const controller = { ...planned.plan, readyMs: wanted.readySeconds * 1000 };
  const supervisor = started.use(createSupervisor(controller, { emit, signal: io.signal }));
  await supervisor.prepare();
  await supervisor.build('throw');
  await untilServing(supervisor.start(), server, wanted.readySeconds, io.signal).catch((error) => {
    throw withLines(error, said);
  });
  await untilRegistered(wanted, io.signal);
  const owned = started.move();
  return { build, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A manager without a cluster that asked for one and still does not serve waits for an answer that never comes. */
async function untilServing(
  serving: Promise<void>,
  { refused }: ApiServer,
  readySeconds: number,
  signal: AbortSignal,
): Promise<void> {
  if (refused === undefined) return await serving;
  const decided = new AbortController();
  const gaveUp = async (): Promise<void> => {
    await refused;
    const isTooLong = await sleep(readySeconds * PATIENCE * 1000, AbortSignal.any([signal, decided.signal]));
    if (!isTooLong) return await serving;
    throw new DevloopError('controller.not-ready', WAITS_FOR_CLUSTER, { hint: USE_AN_API_SERVER });
  };
  await Promise.race([serving, gaveUp()]).finally(() => decided.abort());
}

const WAITS_FOR_CLUSTER =
  'The controller is running, but serves no webhooks: it is waiting for an API server, but it runs without a cluster.';

/** A manager that exits is reported with its last lines; so is one that never serves, since its output is not printed here. */
function withLines(error: unknown, said: string[]): unknown {
  if (!(error instanceof DevloopError) || error.code !== 'controller.not-ready' || said.length === 0)
    return error;
  const lines = said.map((line) => `  ${shortened(line, LONGEST_LINE)}`);
  const message = [`${error.message} Its last lines:`, ...lines].join('\n');
  const hint = error.message === WAITS_FOR_CLUSTER ? USE_AN_API_SERVER : NEVER_SERVES;
  return new DevloopError(error.code, message, { cause: error, hint });
}

const NEVER_SERVES =
  'It may listen on another port, wait for its certificate, or need a variable or an argument of its Deployment, which `verify` reads only in a cluster that you name with --api-server. Set it in devloop.yaml: controller.env, or controller.run with the arguments.';

/** For programs that read a single kubeconfig file, as in `up`. */
async function oneFileProxy(
  { settings }: ManagerWanted,
  { isNamed = false }: ApiServer,
  { api, facts }: { api: ClusterApi; facts: CheckoutFacts },
): Promise<ApiProxy | undefined> {
  const flags =
    settings['controller.run'].value === undefined ? facts.flags.filter(isKubeconfigFlag) : undefined;
  return isNamed && readsOneFile(facts, flags) ? await openApiProxy({ upstream: api }) : undefined;
}

async function plan(
  { checkout, settings, webhooks, recordedPackage, variables }: ManagerWanted,
  {
    facts,
    deployed,
    ...parts
  }: Pick<ControllerInputs, 'api' | 'files' | 'proxy' | 'hasOwnKubeconfig'> & {
    facts: CheckoutFacts;
    deployed: DeployedManager | undefined;
  },
  io: Io,
): Promise<PlannedController> {
  const mounts = deployed?.keyPairMounts ?? [];
  return await planController(
    {
      ...parts,
      target: targetOf(webhooks, deployed?.manager),
      checkout,
      facts,
      settings: controllerSettings(settings),
      isBuilt: true,
      recordedPackage,
      podName: `${NAME}-${randomUUID().slice(0, 8)}`,
      env: { ...io.env, ...variables },
      keyPairMounts: mounts.length > 0 ? mounts : [DEFAULT_DIRECTORY],
      stateFile: processRecord(parts.files.directory, 'controller'),
      keptProgram: keptProgram(io.env, checkout.root),
    },
    io,
  );
}

/** What discovery would find in a cluster that has the webhooks, and the manager if it is deployed. */
function targetOf(webhooks: ManagerWanted['webhooks'], manager?: TargetManager): Target {
  const from = { kind: 'ValidatingWebhookConfiguration' as const, name: NAME };
  const calls = webhooks.map((one) => ({ ...one, from, name: NAME, caBundle: '', groups: [] }));
  const service = {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: NAME, namespace: NAMESPACE } },
    spec: {},
  };
  const ports = portsOf(webhooks).map((port) => ({ name: String(port), port, targetPort: port }));
  const serverName = `${NAME}.${NAMESPACE}.svc`;
  const services = [{ service, serverName, calls, ports, source: '' }];
  return { services, namespace: manager?.ref.namespace ?? NAMESPACE, ...(manager && { manager }) };
}

export function portsOf(webhooks: ManagerWanted['webhooks']): number[] {
  return [...new Set(webhooks.map(({ port }) => port))];
}

/** Writes a self-signed key pair, because no client verifies its certificate. Does not overwrite a key pair of the user. */
async function writeOwnPair({ directory, keyPairDirectory }: LocalFiles, hardCoded: string[]): Promise<void> {
  const pair = await selfSignedPair([`${NAME}.${NAMESPACE}.svc`, 'localhost'], { days: 1 });
  const names = { certificate: 'tls.crt', key: 'tls.key' };
  await writeKeyPair(keyPairDirectory, pair, names);
  const free: string[] = [];
  for (const one of hardCoded) if (await isFree(one)) free.push(one);
  await recordOutside(directory, free);
  for (const one of free) await writeKeyPair(one, pair, names);
}

/**
 * A server can answer before all its handlers are registered, and before another server of the manager does. A path without a handler
 * answers 404, which would count as a changed answer, just like no answer.
 */
async function untilRegistered({ webhooks }: ManagerWanted, signal: AbortSignal): Promise<void> {
  const called = webhooks.map((one) => ({
    ...{ ...one, serverName: `${NAME}.${NAMESPACE}.svc` },
    reviews: 'admission' as const,
  }));
  const isRegistered = async () => {
    const ports = portsOf(webhooks);
    const answering = await Promise.all(ports.map((port) => answersTls({ host: '127.0.0.1', port })));
    return answering.every(Boolean) && (await askForHandlers(called, signal)).unserved.length === 0;
  };
  await pollUntil(isRegistered, { everyMs: 100, limitMs: REGISTERED_MS, signal });
}
