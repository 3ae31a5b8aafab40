import { isWebhookKind, type ObjectRef, refOf, WEBHOOK_KINDS } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import type { Permission } from '../../cluster/api/permissions.ts';
import type { Container, Workload } from '../../cluster/api/workloads.ts';
import { isSelectorless } from '../../cluster/marks/selector.ts';
import type { Step } from '../../cluster/step.ts';
import { holdLease } from '../../cluster/takeover/lease.ts';
import { noticePermissions } from '../../cluster/takeover/pause/notices.ts';
import type { PauseStep } from '../../cluster/takeover/pause/pause.ts';
import { deploymentPause } from '../../cluster/takeover/pause/replicas.ts';
import { ownChangeOf } from '../../cluster/takeover/restore-steps.ts';
import type { StandInStep } from '../../cluster/takeover/stand-in.ts';
import { giveTime, WEBHOOKS } from '../../cluster/takeover/webhook-time.ts';
import { OWN_NAME } from '../../operator/downward.ts';
import { discoveryPermissions } from '../../operator/permissions.ts';
import type { Reconciler, Target, TargetManager } from '../../operator/target.ts';
import { callersOf } from '../../operator/webhooks.ts';
import { describe } from '../../report/object-name.ts';
import { namespacesOf, targetsOf } from '../context/holders.ts';
import type { DebugOptions } from '../context/options.ts';
import type { GuardedObject } from '../guard/react.ts';
import { planRoutes } from '../route/kinds.ts';
import { relay } from '../route/relay.ts';
import type { RoutePlan, RouteSettings } from '../route/routing.ts';
import { type verifyRoute, verifyStep } from '../route/verify-route.ts';
import { planStandIn } from './stand-in.ts';

/**
 * All steps of a take-over in their order. `up` applies them, `up --dry-run` prints their changes, and the API server is asked whether the
 * account has their permissions.
 */
export interface TakeOverPlan {
  /** The permissions of the discovery, which changes nothing. */
  discovery: Permission[];
  leases: ReturnType<typeof holdLease>[];
  /** Applied by each route while it opens. */
  verify: Step<typeof verifyRoute>[];
  /** The routes in the order in which they are tried; none without webhook Services. */
  routes: RoutePlan[];
  /** Pauses what would write the manager or its Services again. */
  reconcilers: PauseStep[];
  pause: PauseStep[];
  /** Creates the stand-in for a manager that reads its own Pod. */
  standIn: StandInStep[];
  /** Raises the webhooks' timeouts while the controller is debugged. */
  webhookTime: Step[];
  /** The user's objects that the session changes, and those that it depends on. */
  guarded: GuardedObject[];
}

function discovery(namespace: string): Permission[] {
  return [...discoveryPermissions(namespace), ...noticePermissions(namespace)];
}

export function planTakeOver(
  target: Target,
  settings: RouteSettings,
  pause: PauseStep[],
  debug?: Pick<DebugOptions, 'ignore'>,
): TakeOverPlan {
  const hasWebhooks = target.services.length > 0;
  const webhookTime = debug ? planWebhookTime(target, debug) : [];
  return {
    discovery: hasWebhooks ? namespacesOf({ ...target, reconcilers: [] }).flatMap(discovery) : [],
    leases: targetsOf(target).map((one) => holdLease(one)),
    verify: hasWebhooks ? [verifyStep(target)] : [],
    routes: planRoutes(target, settings).filter((one) => one.name !== relay.name || !hasAdopted(target)),
    reconcilers: (target.reconcilers ?? []).map(planReconciler),
    pause,
    standIn: planStandIn(target),
    webhookTime,
    guarded: [
      ...targetsOf(target).flatMap((ref) => guardedObject(ref) ?? []),
      ...webhookTime.flatMap(({ changes }) =>
        changes.map(({ object }): GuardedObject => ({ ref: object, own: WEBHOOKS, isOptional: true })),
      ),
    ],
  };
}

function planReconciler({ ref, object, evidence }: Reconciler): PauseStep {
  const step = deploymentPause.pause({ ref, object });
  const changes = evidence ? `the changes to ${describe(evidence.wrote)}` : "devloop's changes";
  const why = `pause what would overwrite ${changes}`;
  return { ...step, permissions: step.permissions.map((one) => ({ ...one, why })) };
}

/** The relay works by the selector of the Service. While there is one, Kubernetes overwrites hand-made Endpoints. */
function hasAdopted({ services }: Target): boolean {
  return services.some(({ service }) => isSelectorless(service));
}

/** One step for each webhook configuration that calls the Services. */
function planWebhookTime({ services }: Target, debug: Pick<DebugOptions, 'ignore'>): Step[] {
  const calls = services.flatMap((service) => service.calls);
  return callersOf(calls).flatMap((ref) => {
    const { kind, name } = ref;
    if (!isWebhookKind(kind)) return [];
    const own = calls.filter(({ from }) => from.kind === kind && from.name === name);
    const webhooks = own.flatMap((call) => (call.settings ? [{ name: call.name, ...call.settings }] : []));
    return giveTime({ kind, name }, webhooks, debug) ?? [];
  });
}

/** An object for the guard; undefined for a manager that is paused without changing its object. */
function guardedObject(ref: ObjectRef): GuardedObject | undefined {
  const own = ownChangeOf(ref.kind);
  return own && { ref, own };
}

/** The plan for an operator that could not be discovered. */
export function planAnyTakeOver(
  namespace: string,
  settings: RouteSettings,
  debug?: Pick<DebugOptions, 'ignore'>,
): TakeOverPlan {
  const target = anyTarget(namespace);
  const plan = planTakeOver(target, settings, [deploymentPause.pause(target.manager)]);
  const webhook = { name: '*', timeoutSeconds: 1, failurePolicy: 'Fail' } as const;
  const kinds = debug ? WEBHOOK_KINDS : [];
  return {
    ...plan,
    webhookTime: kinds.flatMap((kind) => giveTime({ kind, name: '*' }, [webhook], debug!) ?? []),
  };
}

/**
 * Stands for an operator that could not be discovered: in this namespace, one webhook Service, and one Deployment that reads its own Pod.
 */
export function anyTarget(namespace: string): Target & { manager: TargetManager } {
  const metadata = { namespace, name: '*' };
  const service: Service = { metadata, spec: { selector: { '*': '*' }, ports: [] } };
  const object: Workload = { metadata, spec: { selector: {}, template: { spec: { containers: [] } } } };
  const container: Container = { name: '*', env: [{ name: '*', valueFrom: { fieldRef: OWN_NAME } }] };
  return {
    namespace,
    services: [{ service, serverName: '', calls: [], ports: [], source: '' }],
    manager: { ref: refOf('Deployment', metadata), object, container, source: '' },
  };
}
