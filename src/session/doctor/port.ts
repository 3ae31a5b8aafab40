import { mountedTexts } from '../../local/local-copies.ts';
import { containerArguments } from '../../local/plan-arguments.ts';
import { planMounts } from '../../local/plan-mounts.ts';
import { ARGUMENTS } from '../../local/program.ts';
import { moveWebhookPort } from '../../local/webhook-port.ts';
import { canPlace } from '../../machine/mount-namespace.ts';
import { isPortBusy, isPortForbidden } from '../../machine/port.ts';
import { portOwner } from '../../machine/system.ts';
import { expandArguments, readPodEnvironment } from '../../operator/environment.ts';
import { type Target, targetPorts } from '../../operator/target.ts';
import { withNames } from '../../phrases.ts';
import { checkoutFactsOf } from '../context/context.ts';
import { requireControllerPort, requirePermittedPort } from '../context/controller-port.ts';
import { orphanPids } from '../context/session-directories.ts';
import { type Check, type DoctorRun, type Finding, NotChecked, neededOperator } from './check.ts';

/** Are the controller's ports free? */
export const portCheck: Check = {
  name: 'port',
  limitSeconds: 20,
  async run(doctorRun) {
    const { operator, machine } = doctorRun;
    const { target, refusals } = await neededOperator(operator);
    const ports = targetPorts(target.services);
    if (ports.length === 0)
      throw new NotChecked(
        refusals.length > 0 ? "the Service's ports are wrong" : 'there is no webhook Service',
      );
    const elsewhere: Finding[] = [];
    const orphans = await orphanPids(machine);
    for (const port of ports) {
      const isForbidden = await isPortForbidden(port);
      if (!isForbidden && !(await isPortBusy(port))) continue;
      const owner = await portOwner(port);
      if (owner !== undefined && orphans.includes(owner.pid)) return orphanFinding(port, owner.pid);
      const settings = await settingsWith(port, target, doctorRun);
      if (settings.length > 0) {
        elsewhere.push(elsewhereFinding(port, settings, isForbidden));
        continue;
      }
      await requireControllerPort(port, machine);
      await requirePermission(port, isForbidden, doctorRun);
    }
    if (elsewhere.length > 0) return elsewhere;
    return {
      verdict: 'ok',
      answer: `the controller can listen on ${withNames('port', ports)}`,
      proof: ['devloop listened there briefly, on each kind of address'],
    };
  },
};

/** As in `up`, the permission is required only for a program that devloop builds. */
async function requirePermission(port: number, isForbidden: boolean, { context }: DoctorRun): Promise<void> {
  if (isForbidden && (await context).config.controller?.run === undefined) await requirePermittedPort(port);
}

/**
 * The arguments, variables, mounted files and flag defaults that name the port, as `up` would find them; a default counts only if the
 * program has that flag.
 */
async function settingsWith(
  port: number,
  target: Target,
  { context: opening, options }: Pick<DoctorRun, 'context' | 'options'>,
): Promise<string[]> {
  if (target.manager === undefined) return [];
  const context = await opening;
  const environment = await readPodEnvironment(context.api, target.manager, { podName: '' });
  const run = options.package === undefined ? context.config.controller?.run : undefined;
  const given = run?.includes(ARGUMENTS) === false ? [] : containerArguments(target, undefined, () => {});
  const facts = await checkoutFactsOf(context);
  const { addressFlags } = facts;
  const directories = new Map(addressFlags.defaults.map(({ directory }) => [directory, directory]));
  const linked = run === undefined ? async () => directories : undefined;
  const args = expandArguments(given, environment);
  const { copied } = await planMounts(
    {
      ...{ api: context.api, target, podName: '', keyPairMounts: [], checkout: { facts } },
      ...{
        files: { directory: '', keyPairDirectory: '' },
        mayPlace: run === undefined && (await canPlace()),
      },
    },
    [...args.map(({ value }) => value), ...Object.values(environment.values)],
    () => {},
  );
  const settings: string[] = [];
  await moveWebhookPort(
    { args, variables: environment.values, files: mountedTexts(copied) },
    { from: port, port: 0, because: '' },
    { ...environment, addressFlags, linked },
    { emit: (event) => event.type === 'note' && settings.push(event.message.split('\n', 1)[0]!) },
  );
  return settings.map((setting) => setting.replace(/=0$/, `=${port}`));
}

function elsewhereFinding(port: number, settings: string[], isForbidden: boolean): Finding {
  const why = isForbidden
    ? `your account is not allowed to listen on port ${port}`
    : `port ${port} is in use`;
  return {
    verdict: 'warn',
    answer: `${why}, so \`up\` makes the controller listen on another port`,
    proof: settings.map((setting) => `${setting} names the port`),
  };
}

function orphanFinding(port: number, pid: number): Finding {
  return {
    verdict: 'warn',
    answer: `port ${port} is in use by a controller that a killed session left behind (pid ${pid})`,
    proof: ['the session recorded which process it started'],
    hint: 'devloop down (the next `devloop up` ends it, too)',
  };
}
