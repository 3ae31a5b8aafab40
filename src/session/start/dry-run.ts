import { join } from 'node:path';
import { usernameOf } from '../../cluster/api/service-account.ts';
import { ANY_SESSION } from '../../cluster/names.ts';
import type { PlannedChange } from '../../cluster/step.ts';
import { shownCommand } from '../../controller/runner.ts';
import { DevloopError } from '../../errors.ts';
import { isFreeSomewhere } from '../../machine/port.ts';
import { targetPorts } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { markedSessions } from '../context/holders.ts';
import { controllersOf, orphanPids } from '../context/session-directories.ts';
import { assertPorts } from '../route/gateways.ts';
import { changesOf, routeSettings } from '../route/routing.ts';
import { plannedConsent } from './consent.ts';
import { localFilesOf, planLocally } from './controller.ts';
import { wantedAccount } from './identity.ts';
import { lackingForLeases } from './permissions.ts';
import type { PlannedTakeOver, Proposal, UpCommand } from './session.ts';

/** Prints what `up` would do, step by step. Writes nothing, not even on this machine, and fails if `up` would. */
export async function printPlan(command: UpCommand, found: Proposal): Promise<void> {
  const { context, io, machine } = command;
  const { target, plan, inTheWay, question } = found;
  const files = localFilesOf(join(machine.stateDirectory, ANY_SESSION), command);
  const own = inTheWay.living.filter(({ local }) => local);
  const ending = [
    ...own.flatMap(({ holder }) => holder?.pid ?? []),
    ...(await orphanPids(machine)),
    ...(await controllersOf(
      machine,
      own.map(({ sessionId }) => sessionId),
    )),
  ];
  // A session that ends first may have the port.
  if (ending.length === 0) await requireGatewayPorts(command, found);
  const { controller, dlv } = await planLocally(
    { ...command, ...found, files, moved: new Map(), unready: [], sessionId: ANY_SESSION },
    { ending },
  );
  for (const sessionId of markedSessions(target))
    io.emit(notice('restore.would-be-first', { session: sessionId }));
  for (const event of plannedConsent(command, question)) io.emit(event);
  const mayHold = (await lackingForLeases(context.api, plan)).length === 0;
  if (!mayHold) io.emit(notice('session.no-leases', {}));
  print([...(mayHold ? changesOf(plan.leases) : []), ...changesOf(plan.standIn)]);
  print(changesOf(plan.verify));
  // Printed before the routes, whose changes would otherwise seem to include these.
  print(changesOf([...plan.webhookTime, ...plan.reconcilers, ...plan.pause]));
  for (const [index, { name: route, detail, open, point }] of plan.routes.entries()) {
    io.emit({ type: 'route.planned', route, position: index + 1, detail });
    print(changesOf([open, ...point]), { route });
  }
  // Throws as `up` does.
  const wanted = wantedAccount({ ...command, target });
  if (controller) {
    const { generate, build, run, cwd } = controller.plan;
    const shown = shownCommand(run, controller.plan);
    const command = dlv === undefined ? shown : await debugged(dlv, shown);
    const account = wanted && usernameOf(wanted.account);
    const more = { ...(generate && { generate: generate.command }), ...(account && { account }) };
    io.emit({ type: 'controller.planned', build, command, cwd, ...more });
  }

  function print(changes: PlannedChange[], of: { route?: string } = {}): void {
    for (const change of changes) io.emit({ type: 'change', dryRun: true, ...change, ...of });
  }
}

/**
 * Throws 'port.in-use' if a port that the user chose is in use, because `up` then tries no other route. The gateway listens on one address
 * of this machine, so a port counts as in use only if no address has it.
 */
async function requireGatewayPorts(
  { options, context }: UpCommand,
  { target, plan }: PlannedTakeOver,
): Promise<void> {
  const settings = routeSettings(context.settings, options);
  if (settings.port === undefined || plan.routes[0]?.name !== 'direct') return;
  assertPorts(target, settings);
  for (const index of targetPorts(target.services).keys()) {
    const port = settings.port + index;
    if (await isFreeSomewhere(port)) continue;
    const message = `The gateway cannot listen on port ${port}: another process is using it, or it is reserved.`;
    throw new DevloopError('port.in-use', message, { hint: CHOOSE_ANOTHER });
  }
}

const CHOOSE_ANOTHER = 'Stop that process, or let devloop choose a port.';

/** The debugger's module is loaded only if it is needed. */
async function debugged(dlv: string, command: string[]): Promise<string[]> {
  const { debugCommand } = await import('./debugger.ts');
  return debugCommand(dlv, command);
}
