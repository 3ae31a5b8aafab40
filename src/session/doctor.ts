import { DevloopError } from '../errors.ts';
import { checkoutRoot, openContext } from './context/context.ts';
import { thisMachine } from './context/local-machine.ts';
import type { DoctorOptions, Io } from './context/options.ts';
import { newSessionId } from './context/session-directories.ts';
import { certificateCheck } from './doctor/certificate.ts';
import { type Check, type Finding, findingOf, NotChecked, standingOn } from './doctor/check.ts';
import { accountCheck, clusterCheck, readVersion } from './doctor/cluster.ts';
import { conclude } from './doctor/conclude.ts';
import { endpointRoutingCheck } from './doctor/endpoint-routing.ts';
import { envtestCheck } from './doctor/envtest.ts';
import { examine } from './doctor/examine.ts';
import { finalizersCheck } from './doctor/finalizers.ts';
import { askHolders, heldCheck } from './doctor/held.ts';
import { imageCheck } from './doctor/image.ts';
import { type DoctorRun, discoverOperator } from './doctor/operator.ts';
import { ownersCheck } from './doctor/owners.ts';
import { podsCheck } from './doctor/pods.ts';
import { portCheck } from './doctor/port.ts';
import { programCheck } from './doctor/program.ts';
import { rightsCheck, rightsOf } from './doctor/rights.ts';
import { routeChecks } from './doctor/routes.ts';
import { serviceCheck } from './doctor/service.ts';
import { targetCheck } from './doctor/target.ts';
import { judgeToolchain, toolchainCheck } from './doctor/toolchain.ts';

/** Would `up` work here? Each answer is a finding; throws what `up` would fail with first. */
export async function doctor(options: DoctorOptions, io: Io): Promise<void> {
  const opened = await openContext(options, { ...io, emit: () => {} }).catch(withoutCluster);
  if (opened instanceof DevloopError) {
    conclude(await examine(checksWithout(opened, io), io));
    return;
  }
  await using _ = opened;
  const machine = await thisMachine(io.env);
  const doctorRun: DoctorRun = { opened, options, io, machine, session: newSessionId() };
  io.emit({ type: 'note', message: conclude(await examine(allChecks(doctorRun), io)) });
}

/** In the order in which `up` needs the things; those that it does not need come last. */
function allChecks(doctorRun: DoctorRun): Check[] {
  const { opened, io } = doctorRun;
  const { api, root, config } = opened;
  const ownCommand = config.controller?.run !== undefined;
  const version = shared(readVersion(api));
  const reached = shared(standingOn(version, 'the cluster does not answer'));
  const operator = shared(reached.then(() => discoverOperator(doctorRun)));
  const rights = shared(reached.then(() => rightsOf(doctorRun, operator)));
  const dead = shared(askHolders(doctorRun, operator));
  const toolchain = shared(judgeToolchain(root, io.env, ownCommand, io.signal));
  return [
    clusterCheck(api, version),
    accountCheck(api, reached),
    targetCheck(operator, rights),
    serviceCheck(operator),
    rightsCheck(api, rights),
    heldCheck(dead),
    certificateCheck(doctorRun, operator),
    toolchainCheck(toolchain),
    programCheck(doctorRun, operator, toolchain),
    portCheck(operator, doctorRun.machine),
    ...routeChecks(doctorRun, operator, rights),
    endpointRoutingCheck(doctorRun, operator, rights),
    podsCheck(api, operator),
    ownersCheck(api, operator),
    finalizersCheck(api, operator, dead),
    imageCheck(api, root, operator),
    envtestCheck(root, io.env, version),
  ];
}

/** Several checks stand on it, and each waits in its own time: until then a failure must not count as unhandled. */
function shared<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function withoutCluster(error: unknown): DevloopError {
  // Settings are read before the cluster is; with wrong ones no answer would hold.
  if (error instanceof DevloopError && error.code !== 'config.invalid') return error;
  throw error;
}

/** What can be said of this machine alone. */
function checksWithout(failure: DevloopError, io: Io): Check[] {
  const root = checkoutRoot(io.cwd);
  const unreachable = shared(Promise.reject<never>(failure));
  const toolchain = shared<Finding>(judgeToolchain(root, io.env, false, io.signal));
  return [
    { name: 'cluster', limitSeconds: 5, run: async () => findingOf(failure, false) },
    ...ABOUT_THE_CLUSTER.map((name) => notChecked(name)),
    toolchainCheck(toolchain),
    envtestCheck(root, io.env, unreachable),
  ];
}

const ABOUT_THE_CLUSTER = [
  ...['account', 'target', 'service', 'rights', 'session', 'certificate', 'port', 'route direct'],
  ...['endpoint routing', 'pods', 'owners', 'finalizers', 'image'],
];

function notChecked(name: string): Check {
  const run = async (): Promise<never> => {
    throw new NotChecked('there is no cluster to ask');
  };
  return { name, limitSeconds: 5, run };
}
