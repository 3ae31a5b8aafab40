import { isPortBusy, requireFreePort } from '../../machine/port.ts';
import { portOwner } from '../../machine/system.ts';
import type { LocalMachine } from '../context/local-machine.ts';
import { orphanPids } from '../context/session-directories.ts';
import { type Check, type Finding, NotChecked, standingOn } from './check.ts';
import type { DiscoveredOperator } from './operator.ts';

/** Are the ports free that the controller will listen on? */
export function portCheck(operator: Promise<DiscoveredOperator>, machine: LocalMachine): Check {
  return {
    name: 'port',
    limitSeconds: 20,
    async run() {
      const { target, refusals } = await standingOn(operator, 'there is no target');
      const ports = [
        ...new Set(target.services.flatMap((service) => service.ports.map((one) => one.targetPort))),
      ];
      if (ports.length === 0) {
        const why = refusals.length > 0 ? "the Service's ports lead nowhere" : 'there is no webhook Service';
        throw new NotChecked(why);
      }
      const left = await orphanPids(machine);
      for (const port of ports) {
        const owner = (await isPortBusy(port)) ? await portOwner(port) : undefined;
        if (owner !== undefined && left.includes(owner.pid)) return orphanFinding(port, owner.pid);
        await requireFreePort(port);
      }
      return {
        verdict: 'ok',
        answer: `the controller can listen on this machine: ${ports.join(', ')} free`,
        proof: 'listened there for a moment, on each kind of address',
      };
    },
  };
}

/** Pure. */
export function orphanFinding(port: number, pid: number): Finding {
  return {
    verdict: 'warn',
    answer: `port ${port} is held by the controller that a killed session left behind (pid ${pid})`,
    proof: 'the session noted which process it had started',
    hint: 'devloop down (the next `devloop up` ends it first, too)',
  };
}
