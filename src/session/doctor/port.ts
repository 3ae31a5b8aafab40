import { controllerSettings } from '../../config/merge.ts';
import { changesBy } from '../../local/apply-rules.ts';
import { readSettings } from '../../local/manager-settings.ts';
import { ANY_PORT } from '../../local/ports.ts';
import { webhookPort } from '../../local/rules.ts';
import type { Setting } from '../../local/settings.ts';
import { isPortBusy, isPortForbidden } from '../../machine/port.ts';
import { portOwner } from '../../machine/system.ts';
import { type Target, targetPorts } from '../../operator/target.ts';
import { withNames } from '../../phrases.ts';
import { requireControllerPort, requirePermittedPort } from '../context/controller-port.ts';
import { orphanPids } from '../context/session-directories.ts';
import { keptProgram } from '../start/controller.ts';
import { type Check, type DoctorRun, type Finding, NotChecked, needed, neededOperator } from './check.ts';

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
async function requirePermission(port: number, isForbidden: boolean, { settings }: DoctorRun): Promise<void> {
  if (isForbidden && settings['controller.run'].value === undefined) await requirePermittedPort(port);
}

/** The settings of the manager that name the port, which `up` would change. */
async function settingsWith(port: number, target: Target, run: DoctorRun): Promise<string[]> {
  if (target.manager === undefined) return [];
  const program = await needed(run.program, 'the program is not known');
  const { api, root, checkout } = await run.context;
  const { facts } = await run.operator;
  const inputs = {
    ...{
      api,
      target,
      checkout,
      facts,
      settings: controllerSettings(run.settings),
      env: run.io.env,
    },
    ...{ podName: '', files: { directory: '', keyPairDirectory: '' }, keyPairMounts: [] },
    keptProgram: keptProgram(run.io.env, root),
  };
  const { open, here } = await readSettings(inputs, program, { emit: () => {} });
  const rule = webhookPort({ from: port, port: ANY_PORT, because: '' });
  const changes = await changesBy(rule, open.read(), here);
  return changes.map(({ setting }) => written(setting));
}

function written({ name, value, file }: Setting): string {
  return file === undefined ? `${name}=${value}` : `${name}: ${value} (${file})`;
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
