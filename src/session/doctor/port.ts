import { requireFreePort } from '../../controller/port.ts';
import { type Check, NotChecked, standingOn } from './check.ts';
import type { Patient } from './patient.ts';

/** Are the ports free that the controller will listen on? */
export function portCheck(patient: Promise<Patient>): Check {
  return {
    name: 'port',
    limitSeconds: 20,
    async run() {
      const { target, refusals } = await standingOn(patient, 'there is no target');
      const ports = [
        ...new Set(target.services.flatMap((service) => service.ports.map((one) => one.targetPort))),
      ];
      if (ports.length === 0) {
        const why = refusals.length > 0 ? "the Service's ports lead nowhere" : 'there is no webhook Service';
        throw new NotChecked(why);
      }
      for (const port of ports) await requireFreePort(port);
      return {
        verdict: 'good',
        answer: `the controller can listen on this machine: ${ports.join(', ')} free`,
        proof: 'listened there for a moment, on each kind of address',
      };
    },
  };
}
