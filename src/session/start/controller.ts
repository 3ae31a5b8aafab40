import { join, resolve } from 'node:path';
import { type ApiProxy, openApiProxy } from '../../api-proxy/proxy.ts';
import { isKubeconfigFlag } from '../../checkout/flags.ts';
import type { Prepared } from '../../checkout/language.ts';
import type { Work } from '../../cluster/work.ts';
import { controllerSettings } from '../../config/merge.ts';
import { requireProgram } from '../../controller/named-program.ts';
import type { Supervisor } from '../../controller/supervisor.ts';
import { languageOf } from '../../languages.ts';
import type { ApiAccess } from '../../local/api-access.ts';
import {
  type LocalFiles,
  localFiles,
  recordOutside,
  requireRoomForPair,
  writeFoundPair,
  writeHardCoded,
} from '../../local/key-pair-files.ts';
import { type KeyPairSearch, type KeyPairs, mountPointsOf, readKeyPairs } from '../../local/key-pairs.ts';
import { writeNeededFiles } from '../../local/mounts.ts';
import { type ControllerInputs, type PlannedController, planController } from '../../local/plan.ts';
import { type KubeconfigInputs, planKubeconfig, readsOneFile } from '../../local/plan-kubeconfig.ts';
import { keptDirectory } from '../../machine/account.ts';
import { canPlace } from '../../machine/mount-namespace.ts';
import { makePath, requireWritable, writeBelow } from '../../machine/own-files.ts';
import { type Target, targetPorts } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ObservedCalls } from '../calls/observed-calls.ts';
import { checkoutId } from '../context/checkout.ts';
import type { CommandContext } from '../context/context.ts';
import {
  claimPort,
  portElsewhere,
  requireControllerPort,
  requirePermittedPort,
} from '../context/controller-port.ts';
import type { Io } from '../context/options.ts';
import { buildsProgram, isProxied } from '../context/proxied.ts';
import { processRecord } from '../context/session-directories.ts';
import type { SessionFaults } from '../faults/session-faults.ts';
import { assertPorts } from '../route/gateways.ts';
import { routeSettings } from '../route/routing.ts';
import { createFence } from './fence.ts';
import { noticeForbidden } from './forbidden.ts';
import type { Identity } from './identity.ts';
import type { SessionLeases } from './leases.ts';
import type { Session, UpCommand } from './session.ts';
import { podNameFor, podUidFor } from './stand-in.ts';

/** What a session needs on this machine. */
export interface LocalPlan {
  pairs: KeyPairs;
  /** The plan of the controller; absent if the user starts the process that answers. */
  controller: PlannedController | undefined;
  /** The debugger's program, if the controller is to be debugged. */
  dlv?: string;
}

/** The local plan after all files are written. */
export interface LocalParts {
  pairs: KeyPairs;
  /** Where the controller looks for its key pair. */
  keyPairDirectories: string[];
  controller: PlannedController | undefined;
  /** What KUBECONFIG lists for a controller that the user starts. */
  kubeconfig?: string[];
  dlv?: string;
}

/**
 * All checks of this machine before the first write to the cluster: `up` begins with what this returns, and its dry run prints it. Writes
 * nothing. `ending`: the pids of processes that `up` ends first, with their process groups. `isAlone`: the controller gets a network of its own,
 * in which all ports are free.
 */
export async function planLocally(
  session: Session,
  {
    ending = [],
    proxy,
    isAlone,
  }: { ending?: number[]; proxy?: ApiAccess | undefined; isAlone?: boolean } = {},
): Promise<LocalPlan> {
  const { context, target, plan, options, files, io } = session;
  if (plan.routes.some(({ name }) => name === 'direct'))
    assertPorts(target, routeSettings(context.settings, options));
  await requireWritable(session.machine.stateDirectory);
  const pairs = await readKeyPairs(keyPairSearch(context, target), io.emit);
  const [pair] = pairs.values();
  if (pair) await requireRoomForPair(files.keyPairDirectory, pair);
  if (!options.controller) return { pairs, controller: undefined };
  warnOfClientCertificates(session);
  const ports = targetPorts(target.services);
  const taken = new Set(ports);
  const claims = { claimed: options.claimed, deployment: context.settings.deployment.value };
  const elsewhere = (port: number) => portElsewhere(port, claims, { ending, taken });
  const inputs = { ...controllerInputs(session, pairs, proxy), elsewhere };
  const controller = await planController(inputs, io);
  await requireProgram(controller.plan);
  // The supervisor checks again when it starts; at this point nothing has been changed yet.
  for (const port of isAlone ? [] : ports.map((one) => controller.moved.get(one) ?? one)) {
    claimPort(port, claims);
    await requireControllerPort(port, session.machine, ending);
    if (buildsProgram(session)) await requirePermittedPort(port);
  }
  return { pairs, controller, dlv: await debuggerFor(session, controller.plan.cwd, ending) };
}

/** Sources can require certificates in some cases only, so the controller itself has to show it. */
function warnOfClientCertificates({ facts, target, io }: Session): void {
  if (facts.clientCertificates === undefined || target.services.length === 0) return;
  io.emit(notice('webhooks.client-certificates', { source: facts.clientCertificates }));
}

/** The debugger's module is loaded only if it is needed. */
async function debuggerFor(
  { options: { debug }, io }: Session,
  cwd: string,
  ending: number[],
): Promise<string | undefined> {
  if (debug === undefined) return undefined;
  const { requireDebugger } = await import('./debugger.ts');
  return await requireDebugger(debug.port, { cwd, ending, signal: io.signal });
}

/** Writes what a session needs on this machine. */
export async function prepareLocally(
  session: Session,
  proxy: ApiAccess | undefined,
  isAlone = false,
): Promise<LocalParts> {
  const { context, options, files, io } = session;
  const { pairs, controller, dlv } = await planLocally(session, { proxy, isAlone });
  // Nobody asks again, and a session lasts for hours.
  context.checkout.forget();
  const temporary = join(files.directory, 'tmp');
  await writeBelow(files.directory, () => makePath(temporary));
  const [pair] = pairs.values();
  // The key pair for a process of the user is removed when the session ends, unless the user named the directory.
  if (!options.controller && context.settings['certificates.directory'].value === undefined)
    await recordOutside(files.directory, [files.keyPairDirectory]);
  if (pair) await writeFoundPair(files.keyPairDirectory, pair, io.emit);
  if (controller === undefined) {
    const kubeconfig = await writeKubeconfig({
      api: context.api,
      files,
      proxy,
      isProxied: isProxied(context),
    });
    return { pairs, keyPairDirectories: [files.keyPairDirectory], controller: undefined, kubeconfig };
  }
  for (const [port, here] of controller.moved) session.moved.set(port, here);
  await writeNeededFiles(controller.needed);
  const written = pair ? await writeHardCoded(files, controller.hardCoded, pair, io.emit) : [];
  return {
    pairs,
    keyPairDirectories: [files.keyPairDirectory, ...written],
    controller,
    dlv,
  };
}

/**
 * For a process that the user starts, which is probably written in Go and so reads a list of files; undefined in a Pod, if the process is
 * not to use the API proxy.
 */
export async function writeKubeconfig(
  inputs: Pick<KubeconfigInputs, 'api' | 'files' | 'proxy' | 'isProxied'>,
): Promise<string[] | undefined> {
  const planned = planKubeconfig(inputs, false);
  await writeNeededFiles(planned?.needed ?? []);
  return planned?.paths;
}

/** Where a session's files are, given its directory. */
export function localFilesOf(directory: string, { context, options }: UpCommand): LocalFiles {
  const named = context.settings['certificates.directory'].value;
  const keyPairDirectory = named === undefined ? undefined : resolve(context.root, named);
  return localFiles(directory, { startsController: options.controller, keyPairDirectory });
}

export function keyPairSearch({ api, settings }: CommandContext, target: Target): KeyPairSearch {
  return { api, target, secretName: settings['certificates.secret'].value };
}

/**
 * The API proxy of a session. Without it (`--api direct`), it serves only sources that connect as in a Pod, and programs that read a single
 * kubeconfig file. Whether a program that devloop builds contains a flag for that file is not known yet.
 */
export async function openProxyFor(
  session: Session & {
    work: Work;
    leases: SessionLeases;
    identity: Identity;
    calls: ObservedCalls;
    faults: SessionFaults;
    standing: { supervisor?: Pick<Supervisor, 'crash'> };
  },
): Promise<ApiProxy | undefined> {
  const { context, facts, options, io, work, leases, identity, calls, faults, standing } = session;
  const upstream = noticeForbidden(identity, {
    root: context.root,
    isGo: facts.language?.name === 'Go',
    env: io.env,
    ...work,
  });
  let isTold = false;
  const leftBehind = (): void => {
    if (!isTold) work.emit(notice('api.left-behind', {}));
    isTold = true;
  };
  const crash = (rule: string): void => {
    work.emit(notice('faults.crashed', { rule }));
    standing.supervisor?.crash();
  };
  const parts = {
    ...{ upstream, mayWrite: createFence(leases, work), leftBehind },
    ...(options.controller && { crash }),
  };
  if (isProxied(context))
    return await openApiProxy({
      ...parts,
      hooks: calls.hooks,
      reports: calls.socket,
      faults: faults.injector,
    });
  io.emit(notice('api.direct', {}));
  if (!options.controller) return undefined;
  const isBuilt = buildsProgram({ context, options });
  const flags = isBuilt ? facts.flags.filter(isKubeconfigFlag) : undefined;
  const connects = isBuilt && facts.connectsFromPod && (await canPlace());
  return connects || readsOneFile(facts, flags) ? await openApiProxy(parts) : undefined;
}

/** Begins what takes long and needs no cluster, such as reading the user's GOFLAGS, while devloop reads the cluster. */
export async function prepareProgram(
  { context, options }: Pick<UpCommand, 'context' | 'options'>,
  { env, emit, signal }: Io,
): Promise<Prepared | undefined> {
  if (!buildsProgram({ context, options })) return undefined;
  const language = await languageOf(context.checkout);
  return await language?.prepare?.(context.root, keptProgram(env, context.root), { emit, signal });
}

/** What the controller's plan is made from. */
export function controllerInputs(
  session: Session,
  pairs: KeyPairs,
  proxy: ApiAccess | undefined,
): ControllerInputs {
  const { context, target, plan, facts, options, files, io, sessionId } = session;
  const { api, root, checkout } = context;
  return {
    api,
    target,
    checkout,
    facts,
    settings: controllerSettings(context.settings),
    prepared: session.prepared,
    forDebugger: options.debug && (options.debug.all ? 'all' : 'own modules'),
    isBuilt: !options.dryRun,
    isGenerated: options.embedded !== undefined,
    podName: session.ownPod?.name ?? podNameFor(target, sessionId),
    standIn: standInFor(session),
    podUid: session.ownPod?.uid ?? podUidFor(target, plan.standIn),
    proxy,
    isProxied: isProxied(context),
    env: io.env,
    files,
    keyPairMounts: mountPointsOf(pairs, target.manager),
    stateFile: processRecord(files.directory, 'controller'),
    keptProgram: keptProgram(io.env, root),
    callTags: proxy?.reports && keptProgram(io.env, root),
  };
}

/** The stand-in's name; absent if there is none, or if the manager's Pods keep running. */
function standInFor({ target, plan, sessionId }: Session): string | undefined {
  const isAlone = plan.standIn.length > 0 && plan.pause.every(({ answersReviews }) => !answersReviews);
  return isAlone ? podNameFor(target, sessionId) : undefined;
}

/** Where the newest program of a checkout is kept after its session, as a cache. */
export function keptProgram(env: Record<string, string | undefined>, root: string): string {
  return join(keptDirectory(env, 'cache'), 'devloop', 'programs', checkoutId(root));
}
