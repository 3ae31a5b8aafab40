import { DevloopError } from '../errors.ts';
import { openContext } from './context/context.ts';
import { thisMachine } from './context/local-machine.ts';
import type { DoctorOptions, Io } from './context/options.ts';
import { certificateCheck } from './doctor/certificate.ts';
import type { Check, DoctorRun } from './doctor/check.ts';
import { clockCheck } from './doctor/clock.ts';
import { accountCheck, clusterCheck } from './doctor/cluster.ts';
import { consentCheck } from './doctor/consent.ts';
import { debuggerCheck } from './doctor/debugger.ts';
import { endpointRoutingCheck } from './doctor/endpoint-routing.ts';
import { envtestCheck } from './doctor/envtest.ts';
import { conclude, examine } from './doctor/examine.ts';
import { finalizersCheck } from './doctor/finalizers.ts';
import { manifestsCheck } from './doctor/manifests.ts';
import { ownersCheck } from './doctor/owners.ts';
import { pauseCheck } from './doctor/pause.ts';
import { permissionsCheck } from './doctor/permissions.ts';
import { podsCheck } from './doctor/pods.ts';
import { portCheck } from './doctor/port.ts';
import { routeChecks } from './doctor/routes.ts';
import { doctorRun } from './doctor/shared-work.ts';
import { serviceCheck, sessionCheck, targetCheck } from './doctor/target.ts';
import { programCheck, toolchainCheck } from './doctor/toolchain.ts';

/** Checks whether `up` would work here. Emits one finding per answer, and throws the first error with which `up` would fail. */
export async function doctor(options: DoctorOptions, io: Io): Promise<void> {
  const opened = await openContext(options, { ...io, emit: () => {} }).catch(withoutCluster);
  await using _ = opened instanceof DevloopError ? null : opened;
  const run = doctorRun(opened, { options, io, machine: await thisMachine(io.env) });
  io.emit({ type: 'note', message: conclude(await examine(await allChecks(run), run)) });
}

/** Without a cluster, this machine can still be checked. With invalid settings, no answer would be reliable, so their error is rethrown. */
function withoutCluster(error: unknown): DevloopError {
  if (error instanceof DevloopError && error.code !== 'config.invalid') return error;
  throw error;
}

/** All checks, in the order in which `up` needs their subjects. The checks that `up` does not need come last, except for the account. */
export async function allChecks(doctorRun: DoctorRun): Promise<Check[]> {
  return [
    clusterCheck,
    accountCheck,
    targetCheck,
    serviceCheck,
    pauseCheck,
    consentCheck,
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
    manifestsCheck,
    envtestCheck,
    debuggerCheck,
    clockCheck,
  ];
}
