import { Command } from 'commander';
import { flagName } from '../config/flags.ts';
import { type Given, KEYS, rowOf } from '../config/table.ts';
import { documentPath } from '../errors.ts';
import { DEBUG_PORT, type Io, type UpOptions } from '../session/context/options.ts';
import { addCommonFlags, addExamples, outputOptions, present } from './common.ts';
import { addDetachFlags, type DetachFlags, idleOf, runDetachable } from './detach.ts';
import { FLAG_GROUPS } from './flag-groups.ts';
import { addSettingFlags, givenBy } from './setting-flags.ts';
import type { Shell } from './shell.ts';
import { addTakeOverFlags, embedded, type TakeOverFlags, takeOverOptions } from './take-over.ts';
import { invalid } from './usage.ts';
import { parsePort } from './values.ts';

interface UpFlags extends TakeOverFlags, DetachFlags {
  controller: boolean;
  dryRun?: true;
  keep?: true;
  stamp?: true;
  open?: true;
  failFast?: true;
  debug?: number | true;
  debugAll?: true;
  debugIgnore?: true;
  replay?: true;
}

/** `own` is the controller's command: the words after `--`. */
export function upCommand(shell: Shell, own: string[] | undefined): Command {
  const command = new Command('up')
    .summary('run the operator here instead of in the cluster')
    .description(
      'Takes over the operator: redirects its webhooks to this machine, pauses its manager, and builds and runs the controller here. Rebuilds and restarts it after every change. Ctrl-C restores everything.',
    )
    .usage('[options] [-- command...]')
    .optionsGroup(FLAG_GROUPS.takeOver)
    .option('--dry-run', 'print what would change, and stop')
    .option('--keep', 'with --embedded: keep the objects there for the next --embedded --keep');
  addDetachFlags(command);
  addDebugFlags(addReviewFlags(addControllerFlags(addTakeOverFlags(command))));
  addCommonFlags(addSettingFlags(command, 'others')).action(async (flags: UpFlags) => {
    const deployments = [...new Set(flags.deployment)];
    const given = {
      // A script gets all lines; the setting in devloop.yaml is about what people see.
      ...(flags.json ? ({ 'controller.log': 'all' } as const) : {}),
      ...givenBy('up', flags),
      ...present({ 'controller.run': own }),
    };
    const options = upOptions({ ...flags, deployment: deployments.slice(0, 1) }, given, shell.name);
    if (deployments.length > 1) requireSeparable(flags, given, shell.name);
    const idleMs = idleOf(flags, deployments, `${shell.name} up`);
    const run = async (io: Io): Promise<void> => {
      const { keep = false } = flags;
      const typed = `${shell.name} up --embedded`;
      if (flags.embedded) return await embedded({ ...options, keep }, { ...flags, deployments, typed }, io);
      if (keep) throw invalid('--keep needs --embedded.', `${shell.name} up --embedded --keep`);
      const { up } = await import('../session/up.ts');
      if (deployments.length <= 1) return await up(options, io);
      const { assertForSeveral, planEach, upEach } = await import('../session/up-each.ts');
      await assertForSeveral(io.cwd);
      const all = { ...options, deployments, claimed: new Map<number, string>(), questions: [] };
      if (!options.dryRun)
        await planEach(deployments, io, (deployment, own) =>
          up({ ...all, given: { ...given, deployment }, dryRun: true }, own),
        );
      await upEach(deployments, io, (deployment, own) =>
        up({ ...all, given: { ...given, deployment } }, own),
      );
    };
    const restores = !options.dryRun && !flags.embedded && !flags.detach;
    await shell.run(outputOptions(flags, restores), (io) => runDetachable({ ...flags, idleMs }, io, run));
  });
  return addExamples(command, `${shell.name} up`, [
    ['', 'Discover everything from this checkout and the current context'],
    ['--embedded', 'The same without a cluster'],
    ['--embedded --detach', 'In the background: returns when it is ready'],
    ['--dry-run', 'Show what would change in the cluster'],
    ['-n shop-system -- go run ./cmd/manager --zap-devel', 'Run the controller with your own command'],
  ]);
}

function addControllerFlags(command: Command): Command {
  return command
    .optionsGroup(FLAG_GROUPS.controller)
    .option('--no-controller', 'do not build or run anything; send reviews to a process that you start')
    .option(
      '--fail-fast',
      'exit if the first build fails, as without a terminal, instead of waiting for the fix',
    );
}

/** Adds the flags for the recording of reviews, and for what is done with the recorded ones. */
function addReviewFlags(command: Command): Command {
  return command
    .optionsGroup(FLAG_GROUPS.reviews)
    .option('--open', 'open a page that shows each review and the session, in the browser')
    .option('--stamp', 'add to each answer a warning that names the build')
    .option(
      '--replay',
      'after each restart, send recorded reviews to the new build, and show which answers differ',
    );
}

function addDebugFlags(command: Command): Command {
  return command
    .optionsGroup(FLAG_GROUPS.debugger)
    .option(
      '--debug [port]',
      `run the controller under delve; editors connect to this port (default ${DEBUG_PORT})`,
      parsePort,
    )
    .option(
      '--debug-all',
      'with --debug: compile all packages for the debugger, and not only those of your own modules; this takes minutes',
    )
    .option(
      '--debug-ignore',
      'with --debug: admit objects whose webhook does not answer in time (failurePolicy Ignore)',
    );
}

/** A flag that names one controller, Service or port cannot apply to several Deployments. */
function requireSeparable(flags: UpFlags, given: Given, name: string): void {
  const used = [
    ...KEYS.filter((key) => given[key] !== undefined)
      .map(rowOf)
      .flatMap(({ flag, isOfOneController }) => (flag && isOfOneController ? [flagName(flag)] : []))
      .map((flag) => (flag === '--' ? 'a command after `--`' : flag)),
    ...(flags.adopt ? ['--adopt'] : []),
    ...(flags.controller ? [] : ['--no-controller']),
    ...(flags.debug === undefined ? [] : ['--debug']),
  ];
  if (used.length === 0) return;
  throw invalid(
    `Several --deployment flags cannot be combined with ${used.join(', ')}.`,
    `Run each of them in its own terminal: ${name} up --deployment …`,
  );
}

function upOptions(flags: UpFlags, given: Given, name: string): UpOptions {
  const { controller, dryRun = false, open = false } = flags;
  const { stamp = false, replay = false, failFast = false } = flags;
  const { 'controller.run': own, 'controller.package': main } = given;
  if (own !== undefined && !controller) {
    throw invalid(
      '--no-controller and a command after `--` cannot be combined.',
      `${name} up --no-controller`,
    );
  }
  if (main !== undefined && (own !== undefined || !controller)) {
    throw invalid(
      `--package and ${controller ? 'a command after `--`' : '--no-controller'} cannot be combined.`,
      `${name} up --package ${main}`,
    );
  }
  return {
    ...takeOverOptions(flags, given, `${name} up`),
    ...present({ debug: debugOptions(flags, own, name) }),
    controller,
    dryRun,
    failFast,
    stamp,
    open,
    replay,
  };
}

function debugOptions(
  { debug, debugAll, debugIgnore, controller }: UpFlags,
  own: string[] | undefined,
  name: string,
): UpOptions['debug'] {
  if (debug === undefined) {
    const [other] = [...(debugIgnore ? ['--debug-ignore'] : []), ...(debugAll ? ['--debug-all'] : [])];
    if (other) throw invalid(`${other} needs --debug.`, `${name} up --debug ${other}`);
    return undefined;
  }
  if (own !== undefined || !controller) {
    const other = controller ? 'a command after `--`' : '--no-controller';
    throw invalid(
      `--debug and ${other} cannot be combined: devloop debugs the Go program that it builds.`,
      `Start your own debugger instead: ${documentPath('guide.md')}, "Breakpoints"`,
    );
  }
  return { port: debug === true ? DEBUG_PORT : debug, all: debugAll === true, ignore: debugIgnore === true };
}
