import { DevloopError } from '../errors.ts';
import { checkoutRoot } from './context/checkout.ts';
import { contextWith } from './context/context.ts';
import { thisMachine } from './context/local-machine.ts';
import type { CommonOptions, Io } from './context/options.ts';
import { loadSettings } from './context/settings.ts';
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
import { identityCheck } from './doctor/identity.ts';
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
import { orWithoutCluster } from './start/without-cluster.ts';

/** Checks whether `up` would work here. Emits one finding per answer, and throws the first error with which `up` would fail. */
export async function doctor(options: CommonOptions, io: Io): Promise<void> {
  const quiet = { ...io, emit: () => {} };
  const loaded = await loadSettings(options.given, quiet);
  const opened = await contextWith(loaded, options, quiet, true).catch(withoutCluster);
  await using _ = opened instanceof DevloopError ? null : opened;
  const [root, machine] = await Promise.all([checkoutRoot(io.cwd), thisMachine(io.env)]);
  const run = doctorRun(opened, { settings: loaded.settings, io, machine, root });
  io.emit(conclude(await examine(allChecks(run), run)));
}

/** Without a cluster, this machine can still be checked. */
function withoutCluster(error: unknown): DevloopError {
  const named = orWithoutCluster(error);
  if (named instanceof DevloopError) return named;
  throw named;
}

/** All checks, in the order in which `up` needs their subjects. The checks that `up` does not need come last, except for the account. */
export function allChecks(doctorRun: Pick<DoctorRun, 'settings'>): Check[] {
  return [
    clusterCheck,
    accountCheck,
    targetCheck,
    serviceCheck,
    pauseCheck,
    consentCheck,
    permissionsCheck,
    identityCheck,
    sessionCheck,
    certificateCheck,
    toolchainCheck,
    programCheck,
    portCheck,
    ...routeChecks(doctorRun),
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
