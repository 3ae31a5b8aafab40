import { certificateCheck } from './certificate.ts';
import type { Check, DoctorRun } from './check.ts';
import { accountCheck, clusterCheck } from './cluster.ts';
import { debuggerCheck } from './debugger.ts';
import { endpointRoutingCheck } from './endpoint-routing.ts';
import { envtestCheck } from './envtest.ts';
import { finalizersCheck } from './finalizers.ts';
import { imageCheck } from './image.ts';
import { ownersCheck } from './owners.ts';
import { pauseCheck } from './pause.ts';
import { permissionsCheck } from './permissions.ts';
import { podsCheck } from './pods.ts';
import { portCheck } from './port.ts';
import { routeChecks } from './routes.ts';
import { serviceCheck, sessionCheck, targetCheck } from './target.ts';
import { programCheck, toolchainCheck } from './toolchain.ts';

/** All checks, in the order in which `up` needs their subjects. What `up` does not need comes last, except for the account. */
export async function allChecks(doctorRun: DoctorRun): Promise<Check[]> {
  return [
    clusterCheck,
    accountCheck,
    targetCheck,
    serviceCheck,
    pauseCheck,
    permissionsCheck,
    sessionCheck,
    certificateCheck,
    toolchainCheck,
    programCheck,
    portCheck,
    ...(await routeChecks(doctorRun)),
    endpointRoutingCheck,
    podsCheck,
    ownersCheck,
    finalizersCheck,
    imageCheck,
    envtestCheck,
    debuggerCheck,
  ];
}
