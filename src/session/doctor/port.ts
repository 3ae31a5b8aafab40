import { isPortBusy } from '../../machine/port.ts';
import { portOwner } from '../../machine/system.ts';
import { requireControllerPort } from '../context/controller-port.ts';
import { orphanPids } from '../context/session-directories.ts';
import { type Check, type Finding, NotChecked, needed } from './check.ts';

/** Are the ports on which the controller will listen free? */
export const portCheck: Check = {
  name: 'port',
  limitSeconds: 20,
  async run({ operator, machine }) {
    const { target, refusals } = await needed(operator, 'there is no target');
    const ports = [...new Set(target.services.flatMap(({ ports }) => ports.map((one) => one.targetPort)))];
    if (ports.length === 0)
      throw new NotChecked(
        refusals.length > 0 ? "the Service's ports are wrong" : 'there is no webhook Service',
      );
    const orphans = await orphanPids(machine);
    for (const port of ports) {
      if (!(await isPortBusy(port))) continue;
      const owner = await portOwner(port);
      if (owner !== undefined && orphans.includes(owner.pid)) return orphanFinding(port, owner.pid);
      await requireControllerPort(port, machine);
    }
    return {
      verdict: 'ok',
      answer: `the controller can listen on this machine: ${ports.join(', ')} free`,
      proof: ['devloop listened there briefly, on each kind of address'],
    };
  },
};

export function orphanFinding(port: number, pid: number): Finding {
  return {
    verdict: 'warn',
    answer: `port ${port} is in use by a controller that a killed session left behind (pid ${pid})`,
    proof: ['the session recorded which process it started'],
    hint: 'devloop down (the next `devloop up` ends it, too)',
  };
}
