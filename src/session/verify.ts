import { Checkout } from '../checkout/files.ts';
import { connect } from '../cluster/api/client.ts';
import { loadKubeconfig } from '../cluster/api/kubeconfig.ts';
import { jsonPath } from '../config/json-path.ts';
import { chosen } from '../config/merge.ts';
import { causeOf, DevloopError, type ErrorCode, messageOf } from '../errors.ts';
import { describeOwner, isPortBusy } from '../machine/port.ts';
import { portOwner } from '../machine/system.ts';
import { shellWord } from '../phrases.ts';
import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { USUAL_PORT } from '../reviews/export.ts';
import type { ReviewRecord } from '../reviews/record.ts';
import { sessionOnPort } from './context/controller-port.ts';
import { findAssets } from './context/envtest-assets.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io } from './context/options.ts';
import { endOrphans } from './context/session-directories.ts';
import { loadSettings } from './context/settings.ts';
import { withoutDiscoveries } from './context/without-discoveries.ts';
import { afterVerify, type CompareOptions, compareAll, toShow } from './reviews/replay.ts';
import { startEnvtest } from './verify/envtest.ts';
import { builtInKinds, definitionsIn, kindsOf, type ServedKind } from './verify/kinds.ts';
import { type ManagerWanted, portsOf, startManager } from './verify/manager.ts';
import { type ApiServer, NO_CLUSTER, startNoCluster } from './verify/no-cluster.ts';
import { webhookSwitches } from './verify/webhook-switches.ts';

/** Shorter than in `up`: here the manager has nothing to wait for. */
const READY_SECONDS = 60;

export interface SavedSet {
  name: string;
  records: ReviewRecord[];
  checkout: string;
  withSideEffects: boolean;
  /** The kubeconfig of the API server that the user names for the manager. */
  apiServer?: string;
  accepts?: CompareOptions['accepts'];
}

/**
 * Builds the manager of the checkout, runs it without a cluster, sends it the set, and compares the answers. If envtest's API server is
 * installed and the manager does not start or answers differently, this tries again with that server, and only the answers of the second
 * try can be accepted. With an API server that the user names, there is only one try. Throws 'review.changed' if an answer changed that is
 * not accepted, and 'port.in-use' while a session's controller has the port.
 */
export async function verifySet(set: SavedSet, io: Io): Promise<void> {
  const { settings } = await loadSettings({}, io);
  const { records, checkout } = set;
  const files = new Checkout(checkout);
  const webhooks = webhooksOf(records);
  // A manager that a killed `verify` left running would still use the port.
  await endOrphans(await thisMachine(io.env), io.emit, 'verify');
  for (const port of portsOf(webhooks)) await requireManagerPort(port, set, io.env);
  const recordedPackage = records.findLast((one) => one.package !== undefined)?.package;
  const wanted: ManagerWanted = {
    ...{ checkout: files, settings, webhooks, recordedPackage },
    variables: await unsetSwitches(files, { ...io.env, ...settings['controller.env'].value }, io),
    readySeconds: chosen(settings['controller.readySeconds']) ?? READY_SECONDS,
  };
  if (set.apiServer !== undefined)
    return await compareWith(set, wanted, { server: await namedServer(set.apiServer, io), io });
  const { directory: assets } = await findAssets(checkout, io.env);
  const answers: DevloopEvent[] = [];
  const emit: Emit = (event) => {
    if (event.type.startsWith('reviews.')) answers.push(event);
    else io.emit(event);
  };
  const { accepts, ...strict } = set;
  const [first, verify] = assets === undefined ? [set, withKindsIfNeeded] : [strict, withoutCluster];
  const failure = await verify(first, wanted, { ...io, emit }).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (failure === undefined || assets === undefined || !mayNeedCluster(failure.error)) {
    answers.forEach((event) => void io.emit(event));
    if (failure === undefined) return;
    if (hasCode(failure.error, 'review.changed')) io.emit(notice('verify.without-cluster', {}));
    throw failure.error;
  }
  io.emit(notice('verify.tries-envtest', { ...causeOf(failure.error), assets }));
  await using server = await startEnvtest(assets, checkout, io);
  await compareWith(set, wanted, { server, io: secondTry(io) }).catch((error) => {
    throw withNextTry(error, set.name);
  });
}

/** A manager that does not start with an empty API server either may need what its deployment creates. */
function withNextTry(error: unknown, name: string): unknown {
  if (!hasCode(error, 'controller.exited') && !hasCode(error, 'controller.not-ready')) return error;
  const { code, message, hint } = error as DevloopError;
  const next = `If it needs objects that its deployment creates, such as a Secret, use a test cluster in which the operator is deployed: devloop reviews verify ${shellWord(name)} --api-server KUBECONFIG`;
  return new DevloopError(code, message, { hint: [hint, next].filter(Boolean).join('\n'), cause: error });
}

/** The switches of the manifests that the user has not set. */
async function unsetSwitches(
  checkout: Checkout,
  set: Record<string, string | undefined>,
  { emit }: Io,
): Promise<Record<string, string>> {
  const unset = Object.entries(await webhookSwitches(checkout)).filter(([name]) => set[name] === undefined);
  for (const [name, value] of unset) emit(notice('verify.switched-on', { variable: name, value }));
  return Object.fromEntries(unset);
}

/** Where the manager has to serve the set, each port and path once: some operators have several webhook servers. */
function webhooksOf(records: ReviewRecord[]): ManagerWanted['webhooks'] {
  const all = records.map(({ path, port = USUAL_PORT }) => ({ path, port }));
  return [...new Map(all.map((one) => [`${one.port} ${one.path}`, one])).values()];
}

async function withoutCluster(
  set: SavedSet,
  wanted: ManagerWanted,
  io: Io,
  kinds: ServedKind[] = [],
): Promise<void> {
  await using server = await startNoCluster(kinds);
  await compareWith(set, wanted, { server, io });
}

/**
 * Some managers look up kinds before they serve, and exit if there are none: they are started again with the kinds of Kubernetes and of the
 * checkout. The others are not, since a webhook that reads such an object through the manager's cache would wait instead of failing.
 */
async function withKindsIfNeeded(set: SavedSet, wanted: ManagerWanted, io: Io): Promise<void> {
  await withoutCluster(set, wanted, io).catch(async (error) => {
    if (!hasCode(error, 'controller.exited') || !LOOKS_UP.test(messageOf(error))) throw error;
    io.emit(notice('verify.with-kinds', {}));
    const defined = (await definitionsIn(set.checkout)).flatMap(kindsOf);
    await withoutCluster(set, wanted, secondTry(io), [...builtInKinds(), ...defined]);
  });
}

/** What devloop discovered was printed at the first try. */
function secondTry(io: Io): Io {
  return { ...io, emit: withoutDiscoveries(io.emit) };
}

const LOOKS_UP = new RegExp(`${NO_CLUSTER.message}|no matches for kind`);

/** The API server of a kubeconfig's current context. Rejects if the server does not answer, and leaves it as it is at the end. */
async function namedServer(kubeconfig: string, { emit, env, cwd }: Io): Promise<ApiServer> {
  const selected = await loadKubeconfig({ kubeconfig }, env, cwd);
  await using api = await connect(selected);
  await api.call('GET', '/version');
  const { context, server } = selected;
  emit(notice('verify.named-cluster', { context, server }));
  return { select: async () => selected, isNamed: true, async [Symbol.asyncDispose]() {} };
}

/** Whether the manager did not start or answered differently, perhaps because it had no cluster to read from. */
function mayNeedCluster(error: unknown): boolean {
  return error instanceof DevloopError && NEEDS.has(error.code);
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof DevloopError && error.code === code;
}

const NEEDS = new Set<ErrorCode>(['review.changed', 'controller.exited', 'controller.not-ready']);

async function compareWith(
  { name, records, withSideEffects, accepts }: SavedSet,
  wanted: ManagerWanted,
  { server, io }: { server: ApiServer; io: Io },
): Promise<void> {
  await using manager = await startManager(wanted, server, io);
  const paths = (wanted.settings.redact.value ?? []).map((path) => jsonPath(path)!);
  const { build } = manager;
  const { emit, signal } = io;
  await compareAll(records, {
    paths,
    withSideEffects,
    signal,
    emit,
    accepts,
    hint: (changed) => (accepts === undefined ? afterVerify(changed, name) : toShow(changed, { set: name })),
    build,
  });
}

/**
 * Called before the manager is built. Throws 'port.in-use' if the manager could not listen on the port. If a session's controller has the
 * port, the suggested command sends the set to that controller, which need not end. `name`: the name of the saved set.
 */
export async function requireManagerPort(
  port: number,
  { checkout, name }: { checkout: string; name: string },
  env: Record<string, string | undefined>,
): Promise<void> {
  if (!(await isPortBusy(port))) return;
  const session = await sessionOnPort(port, await thisMachine(env));
  if (session === undefined) {
    const owner = await portOwner(port);
    throw inUse(port, describeOwner(owner), `When it has ended: devloop reviews verify ${shellWord(name)}`);
  }
  const user = `the controller of session ${session.id}`;
  const other = `devloop up runs in ${session.checkout}. When it has ended: devloop reviews verify ${shellWord(name)}`;
  const ask = `To send the set to that controller: devloop reviews replay --set ${shellWord(name)}`;
  throw inUse(port, user, session.checkout === checkout ? ask : other);
}

function inUse(port: number, user: string, hint: string): DevloopError {
  const message = `The manager needs port ${port}, which is in use by ${user}.`;
  return new DevloopError('port.in-use', message, { hint });
}
