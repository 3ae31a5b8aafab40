import type { Permission } from '../../cluster/api/permissions.ts';
import type { PlannedChange, Step } from '../../cluster/step.ts';
import type { Work } from '../../cluster/work.ts';
import type { Settings } from '../../config/merge.ts';
import type { RouteChoice } from '../../config/route-choice.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import type { Route } from '../../route/route.ts';
import type { Ask, TrustOptions } from '../context/options.ts';
import type { GatewayPlan, GatewaySettings, Gateways } from './gateways.ts';
import type { ProbeResult } from './probe-until.ts';

/** One way for kube-apiserver to reach this machine. kinds.ts lists them all. */
export interface RouteKind {
  name: string;
  /** Whether `auto` tries it. A route that needs a setting is used only if the user names it. */
  isAutomatic: boolean;
  plan(target: Target, settings: RouteSettings): Omit<RoutePlan, 'name'>;
}

/** What it takes to use a route for one operator. */
export interface RoutePlan {
  /** The kind of route, such as `relay`. */
  name: string;
  /** The far end, for display. */
  detail: string;
  /** Opens the route and verifies it. Changes no object of the user. */
  open: Step<OpenApply>;
  /** Points the webhook Services to the open route. */
  point: PointStep[];
}

/** `isLast`: no other route will be tried after this one. */
export type OpenApply = (routing: RouteWork, isLast: boolean) => Promise<OpenRoute>;

/** `onPointed` is called when the Service points to the route; the rest of the work does not change that. */
type PointApply = (work: Work, open: OpenRoute, onPointed?: () => void) => Promise<void>;

export interface PointStep extends Step<PointApply> {
  service: TargetService;
}

/** What every route needs to be opened and verified. */
export interface RouteWork extends Work, GatewayPlan {
  target: Target;
  settings: RouteSettings;
  env: Record<string, string | undefined>;
  /** Asks the user; absent without a terminal. */
  ask?: Ask;
  /** Called with the pending removal of temporary objects: only the end of the session has to wait for it. */
  removing?: (removed: Promise<void>) => void;
  /** How many probes verify a route; 1 by default. */
  probes?: number;
  /** Verifies a route by other means than temporary Services. */
  verify?: (ends: Pick<OpenRoute, 'route' | 'gateways'>, limitMs: number) => Promise<ProbeResult>;
}

export interface RouteSettings extends GatewaySettings {
  choice: RouteChoice;
  /** The address that the cluster calls. */
  address?: string;
  /** Where the address comes from, if the user did not choose it. */
  addressSource?: string;
  relayImage?: string;
  /** The API server is the session's own. */
  isEmbedded?: boolean;
}

/** A verified route and the gateways behind it. Disposing closes both. */
export interface OpenRoute extends AsyncDisposable {
  route: Route;
  gateways: Gateways;
}

/** Waits until temporary objects are removed, or passes that wait on to `removing`. */
export async function removeBeside(
  { removing }: Pick<RouteWork, 'removing'>,
  removed: Promise<void>,
): Promise<void> {
  if (removing === undefined) await removed;
  else removing(removed);
}

/** What a route needs to know from the user. */
export function routeSettings(
  { route, address, port, allowFrom, relayImage }: Settings,
  { trustAccounts, embedded }: TrustOptions & { embedded?: unknown } = {},
): RouteSettings {
  return {
    choice: route.value,
    address: address.value,
    port: port.value,
    allowFrom: allowFrom.value,
    relayImage: relayImage.value,
    trustAccounts,
    isEmbedded: embedded !== undefined,
  };
}

/** The namespaces of the webhook Services, in which a route creates its objects. */
export function serviceNamespaces({ services }: Target): string[] {
  return [...new Set(services.map(({ service }) => service.metadata.namespace!))];
}

export function permissionsOf(steps: { permissions: Permission[] }[]): Permission[] {
  return steps.flatMap(({ permissions }) => permissions);
}

export function changesOf(steps: { changes: PlannedChange[] }[]): PlannedChange[] {
  return steps.flatMap(({ changes }) => changes);
}
