import { basename, delimiter, join, resolve } from 'node:path';
import { goBuildCommand } from '../controller/build.ts';
import { type FoundMain, findMainPackage, type MainPackageHints } from '../controller/go/main-package.ts';
import type { ControllerPlan } from '../controller/supervisor.ts';
import { DevloopError } from '../errors.ts';
import { isPortBusy } from '../machine/port.ts';
import type { Target } from '../operator/discover.ts';
import { expandArguments, readPodEnvironment } from '../operator/environment.ts';
import { ownPaths } from '../operator/match.ts';
import type { CommandContext } from '../session/context/context.ts';
import { controllerRecord, keptProgram } from '../session/context/machine-state.ts';
import type { Session } from '../session/context/session.ts';
import { localArguments } from './arguments.ts';
import { controllerEnvironment, NAMESPACE_FILE } from './environment.ts';
import { fixedDirectories } from './files.ts';
import { layOutFiles, type NeededFiles, planMounts } from './mounts.ts';

const GRACE_MS = 10_000;
const READY_SECONDS = 120;

/** How to build and run the controller here, and what of the key pair's places the sources name for good. */
interface Planned {
  plan: ControllerPlan;
  fixed: string[];
}

/** Lays out what the controller needs, and says how to build and run it. */
export async function controllerPlan(session: Session): Promise<Planned> {
  const { needed, ...planned } = await planController(session);
  for (const files of needed) await layOutFiles(files);
  return planned;
}

/**
 * How the controller is built and run here, as much as possible as the Deployment runs it in the cluster, and the files that it
 * needs for that. Writes nothing.
 */
export async function planController(session: Session): Promise<Planned & { needed: NeededFiles[] }> {
  const { opened, target, files, io } = session;
  const { api, config, root } = opened;
  const { emit } = io;
  const [program, pod] = await Promise.all([
    howToBuild(session),
    target.deployment ? readPodEnvironment(api, target.deployment) : { values: {}, unknown: [] },
  ]);
  for (const { name, why } of pod.unknown)
    emit({ type: 'warning', message: `The controller's variable ${name} is left out: ${why}.` });
  const own = target.deployment ? expandArguments(containerArguments(target), pod.values) : [];
  const words = [...own, ...Object.values(pod.values)];
  const mounts = await planMounts(api, target, files, words, emit);
  const { paths } = mounts;
  const { args, notes } = localArguments(own, { paths, busyPorts: await busyPorts(own) });
  for (const note of notes)
    emit({
      type: 'note',
      message: `${note.argument}\nbecomes ${note.became || 'nothing'}: ${note.because}`,
    });
  const kubeconfig = kubeconfigFor(opened, files.directory);
  const environment = controllerEnvironment({
    inherited: io.env,
    deployment: { ...pod.values, ...config.controller?.env },
    temporary: join(files.directory, 'tmp'),
    paths,
    namespace: session.sourcePaths.has(NAMESPACE_FILE) ? target.namespace : undefined,
    ...(kubeconfig === undefined ? {} : { kubeconfig: kubeconfig.paths.join(delimiter) }),
  });
  for (const note of environment.notes) emit({ type: 'warning', message: note });
  const port = target.services[0]?.ports[0]?.targetPort;
  const plan: ControllerPlan = {
    cwd: root,
    build: program.build,
    run: program.takesArguments ? [...program.run, ...args] : program.run,
    env: environment.env,
    webhook: port === undefined ? undefined : { host: '127.0.0.1', port },
    watch: program.watch,
    graceMs: GRACE_MS,
    readyMs: (config.controller?.readySeconds ?? READY_SECONDS) * 1000,
    stateFile: controllerRecord(files.directory),
    keptProgram: keptProgram(io.env, root),
  };
  const fixed = fixedDirectories(files.mountedAt, words, session.sourcePaths);
  return { plan, fixed, needed: [...mounts.needed, ...(kubeconfig?.needed ?? [])] };
}

interface Program {
  build: string[] | undefined;
  run: string[];
  watch: ControllerPlan['watch'];
  /** The Deployment's arguments are the program's own only when devloop builds and runs it itself. */
  takesArguments: boolean;
}

async function howToBuild({ opened, target, options, files, io }: Session): Promise<Program> {
  const { emit, signal } = io;
  const { root, config } = opened;
  const settings = config.controller ?? {};
  const watched = settings.watch?.map((path) => resolve(root, path));
  const command = options.command ?? settings.run;
  if (command !== undefined) {
    emit({
      type: 'discovered',
      what: 'command',
      value: command.join(' '),
      source: options.command ? 'named by you' : 'devloop.yaml',
    });
    return {
      build: settings.build,
      run: command,
      watch: { paths: watched ?? [root] },
      takesArguments: false,
    };
  }
  if (settings.build !== undefined) throw buildWithoutRun();
  const main = await findMainPackage(root, mainPackageHints(target, signal));
  emit({ type: 'discovered', what: 'main package', value: main.package, source: main.source });
  const tags = ownTags(main, io.env);
  if (tags !== undefined)
    emit({ type: 'discovered', what: 'build tags', value: tags.tags, source: tags.source });
  const binary = join(files.directory, 'controller');
  const build = goBuildCommand(main.package, binary, tags?.tags);
  return {
    build,
    run: [binary],
    watch: watched ? { paths: watched } : { goPackage: main.package, tags: tags?.tags },
    takesArguments: true,
  };
}

/** Tags in the user's own GOFLAGS, if only none, are what the user wants. */
export function ownTags(main: FoundMain, env: NodeJS.ProcessEnv): FoundMain['tags'] {
  return /(^|\s)--?tags\b/.test(env.GOFLAGS ?? '') ? undefined : main.tags;
}

/** What the cluster knows of the program that the operator is. */
export function mainPackageHints(target: Target | undefined, signal: AbortSignal): MainPackageHints {
  const { object, container } = target?.deployment ?? {};
  const paths = ownPaths(target?.services.flatMap(({ calls }) => calls) ?? []);
  return { command: container?.command ?? [], paths, deployment: object?.metadata.name, signal };
}

export function buildWithoutRun(): DevloopError {
  const message = 'devloop.yaml has controller.build without controller.run: what it builds cannot be known.';
  return new DevloopError('config.invalid', message, {
    hint: 'Add controller.run, the command that starts what was built.',
  });
}

/** The container's words behind its program: a subcommand in `command` counts as well. */
function containerArguments(target: Target): string[] {
  const { command = [], args = [] } = target.deployment?.container ?? {};
  const isShell = ['sh', 'bash', 'ash'].includes(basename(command[0] ?? ''));
  return isShell ? [] : [...command.slice(1), ...args];
}

async function busyPorts(args: string[]): Promise<number[]> {
  const ports = [
    ...new Set(
      args.flatMap((argument) => [...argument.matchAll(/:(\d{2,5})\b/g)].map((match) => Number(match[1]))),
    ),
  ];
  const busy = await Promise.all(ports.map((port) => isPortBusy(port)));
  return ports.filter((_, index) => busy[index]);
}

/** A context chosen by flag or file reaches the controller through a tiny kubeconfig in front of the user's: no secret is copied. */
function kubeconfigFor(
  { api, chosen }: CommandContext,
  directory: string,
): { paths: string[]; needed: NeededFiles[] } | undefined {
  const own = api.kubeconfigFiles;
  if (chosen.context === undefined)
    return chosen.kubeconfig === undefined ? undefined : { paths: own, needed: [] };
  const content = JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': api.context });
  return {
    paths: [join(directory, 'kubeconfig'), ...own],
    needed: [{ directory, files: { kubeconfig: content } }],
  };
}
