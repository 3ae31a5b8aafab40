import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { BegunBuild } from '../../controller/begun-build.ts';
import { readGoFlags } from '../../controller/go/toolchain.ts';
import { requireProgram } from '../../controller/named-program.ts';
import type { ControllerPlan } from '../../controller/supervisor.ts';
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
import { openPodConnection, type PodConnection } from '../../local/pod-connection.ts';
import { homeDirectory } from '../../machine/account.ts';
import { canPlace } from '../../machine/mount-namespace.ts';
import { makePath, requireWritable, writeBelow } from '../../machine/own-files.ts';
import { type Target, targetPorts } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { CommandContext } from '../context/context.ts';
import {
  claimPort,
  portElsewhere,
  requireControllerPort,
  requirePermittedPort,
} from '../context/controller-port.ts';
import type { Io, UpOptions } from '../context/options.ts';
import { processRecord } from '../context/session-directories.ts';
import { assertPorts } from '../route/gateways.ts';
import { routeSettings } from '../route/routing.ts';
import type { Session, UpCommand } from './session.ts';
import { podNameFor, podUidFor } from './stand-in.ts';

/** What a session needs on this machine. */
export interface LocalPlan {
  pairs: KeyPairs;
  /** The plan of the controller; absent if the user starts the process that answers. */
  controller: PlannedController | undefined;
  /** The debugger's program, if the controller is to be debugged. */
  dlv?: string | undefined;
}

/** The local plan after all files are written. */
export interface LocalParts {
  pairs: KeyPairs;
  /** Where the controller looks for its key pair. */
  keyPairDirectories: string[];
  controller: ControllerPlan | undefined;
  /** What KUBECONFIG lists for a controller that the user starts. */
  kubeconfig?: string[] | undefined;
  dlv?: string | undefined;
}

/**
 * All checks of this machine before the first write to the cluster: `up` begins with what this returns, and its dry run prints it. Writes
 * nothing. `ending`: the pids of processes that `up` ends first, with their process groups.
 */
export async function planLocally(
  session: Session,
  { ending = [], connection }: { ending?: number[]; connection?: PodConnection | undefined } = {},
): Promise<LocalPlan> {
  const { context, target, plan, options, files, io } = session;
  if (plan.routes.some(({ name }) => name === 'direct')) assertPorts(target, routeSettings(options, context));
  await requireWritable(session.machine.stateDirectory);
  const pairs = await readKeyPairs(keyPairSearch(context, target), io.emit);
  const [pair] = pairs.values();
  if (pair) await requireRoomForPair(files.keyPairDirectory, pair);
  if (!options.controller) return { pairs, controller: undefined };
  warnOfClientCertificates(session);
  const ports = targetPorts(target.services);
  const taken = new Set(ports);
  const elsewhere = (port: number) => portElsewhere(port, options, { ending, taken });
  const inputs = { ...controllerInputs(session, pairs, connection), elsewhere };
  const controller = await planController(inputs, io);
  await requireProgram(controller.plan);
  // The supervisor checks again when it starts; at this point nothing has been changed yet.
  for (const port of ports.map((one) => controller.moved.get(one) ?? one)) {
    claimPort(port, options);
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
  connection: PodConnection | undefined,
): Promise<LocalParts> {
  const { context, options, files, io } = session;
  const { pairs, controller, dlv } = await planLocally(session, { connection });
  const temporary = join(files.directory, 'tmp');
  await writeBelow(files.directory, () => makePath(temporary));
  const [pair] = pairs.values();
  // The key pair for a process of the user is removed when the session ends, unless the user named the directory.
  if (!options.controller && context.config.certificates?.directory === undefined)
    await recordOutside(files.directory, [files.keyPairDirectory]);
  if (pair) await writeFoundPair(files.keyPairDirectory, pair, io.emit);
  if (controller === undefined) {
    const kubeconfig = await writeKubeconfig({ api: context.api, files });
    return { pairs, keyPairDirectories: [files.keyPairDirectory], controller: undefined, kubeconfig };
  }
  for (const [port, here] of controller.moved) session.moved.set(port, here);
  await writeNeededFiles(controller.needed);
  const written = pair ? await writeHardCoded(files, controller.hardCoded, pair, io.emit) : [];
  return {
    pairs,
    keyPairDirectories: [files.keyPairDirectory, ...written],
    controller: controller.plan,
    dlv,
  };
}

/** For a process that the user starts, which is probably written in Go and so reads a list of files; undefined in a Pod. */
export async function writeKubeconfig(
  inputs: Pick<KubeconfigInputs, 'api' | 'files'>,
): Promise<string[] | undefined> {
  const planned = planKubeconfig(inputs, false);
  await writeNeededFiles(planned?.needed ?? []);
  return planned?.paths;
}

/** Where a session's files are, given its directory. */
export function localFilesOf(directory: string, { context, options }: UpCommand): LocalFiles {
  const named = context.config.certificates?.directory;
  const keyPairDirectory = named === undefined ? undefined : resolve(context.root, named);
  return localFiles(directory, { startsController: options.controller, keyPairDirectory });
}

export function keyPairSearch({ api, config }: CommandContext, target: Target): KeyPairSearch {
  return { api, target, secretName: config.certificates?.secret };
}

/**
 * A connection like that of a Pod, for sources that connect as in a Pod, and for programs that read a single kubeconfig file. Whether a
 * program that devloop builds contains a flag for that file is not known yet.
 */
export async function connectionFor({
  context: { api, root, config },
  facts,
  options,
}: Session): Promise<PodConnection | undefined> {
  if (!options.controller) return undefined;
  const isBuilt = buildsProgram({ context: { config }, options });
  const flags = isBuilt ? facts.kubeconfigFlags : undefined;
  const connects = isBuilt && facts.connectsFromPod && (await canPlace());
  return connects || readsOneFile({ root, facts }, flags) ? await openPodConnection(api) : undefined;
}

/** Reads the user's GOFLAGS with the go tool while devloop reads the cluster, unless they are already known from the begun build. */
export function beginGoFlags(
  context: CommandContext,
  options: UpOptions,
  begun: BegunBuild | undefined,
  { emit, signal }: Io,
): Promise<string> | undefined {
  if (!buildsProgram({ context, options })) return undefined;
  if (begun?.goFlags !== undefined) return Promise.resolve(begun.goFlags);
  const asking = readGoFlags(context.root, { emit, signal });
  // Whoever needs the flags gets the error.
  asking.catch(() => {});
  return asking;
}

/** Whether devloop builds what runs here, rather than running a command of the user. */
function buildsProgram({
  context,
  options,
}: {
  context: Pick<CommandContext, 'config'>;
  options: UpOptions;
}): boolean {
  return options.controller && (options.command ?? context.config.controller?.run) === undefined;
}

/** What the controller's plan is made from. */
export function controllerInputs(
  session: Session,
  pairs: KeyPairs,
  connection: PodConnection | undefined,
): ControllerInputs {
  const { context, target, plan, facts, options, files, io, sessionId } = session;
  const { api, root, config } = context;
  return {
    api,
    target,
    checkout: { root, facts },
    settings: config.controller ?? {},
    command: options.command,
    goPackage: options.package,
    goFlags: session.goFlags,
    begun: session.begun,
    forDebugger: options.debug && (options.debug.all ? 'all' : 'own modules'),
    isBuilt: !options.dryRun,
    podName: podNameFor(target, sessionId),
    standIn: standInFor(session),
    podUid: podUidFor(target, plan.standIn),
    connection,
    env: io.env,
    files,
    keyPairMounts: mountPointsOf(pairs, target.manager),
    stateFile: processRecord(files.directory, 'controller'),
    keptProgram: keptProgram(io.env, root),
  };
}

/** The stand-in's name; absent if there is none, or if the manager's Pods keep running. */
function standInFor({ target, plan, sessionId }: Session): string | undefined {
  const isAlone = plan.standIn.length > 0 && plan.pause.every(({ answersReviews }) => !answersReviews);
  return isAlone ? podNameFor(target, sessionId) : undefined;
}

/** Where the newest program of a checkout is kept after its session, as a cache. */
export function keptProgram(env: Record<string, string | undefined>, root: string): string {
  const base = env.XDG_CACHE_HOME || join(homeDirectory(env), '.cache');
  return join(base, 'devloop', 'programs', createHash('sha256').update(root).digest('hex').slice(0, 16));
}
