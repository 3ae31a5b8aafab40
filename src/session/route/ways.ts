import type { ClusterApi } from '../../cluster/api/client.ts';
import { forbidden, missing, type Permission, permissionsOn } from '../../cluster/api/permissions.ts';
import { relayPermissions } from '../../cluster/relay/watch.ts';
import { endpointPermissions } from '../../cluster/takeover/endpoints.ts';
import { pausePermissions } from '../../cluster/takeover/pause/strategies.ts';
import { probePermissions } from '../../cluster/takeover/probe.ts';
import { probeServicePermissions } from '../../cluster/takeover/probe-service.ts';
import { servicePermissions } from '../../cluster/takeover/service.ts';
import type { RouteChoice } from '../../config/route-choice.ts';
import { discoveryPermissions } from '../../operator/permissions.ts';
import type { Target } from '../../operator/target.ts';
import { namespacesOf } from '../context/holders.ts';
import { nameOf, type Way } from './routing.ts';

/** What the account may do of what `up` needs. */
export interface Rights {
  asked: Permission[];
  /** Missing whichever way is taken. */
  lacking: Permission[];
  ways: { way: Way; lacking: Permission[] }[];
}

/** In the order in which they are tried. */
export function waysOf(choice: RouteChoice): Way[] {
  return choice === 'auto' ? ['direct', 'relay'] : [choice];
}

/** Asks for everything at once, each thing one time. */
export async function askRights(
  api: ClusterApi,
  namespaces: string[],
  parts: { webhooks: boolean; deployment: boolean },
  choice: RouteChoice,
): Promise<Rights> {
  const common = namespaces.flatMap((one) => commonPermissions(one, parts)).filter(isRequired);
  const ways = parts.webhooks ? waysOf(choice) : [];
  const needs = ways.map((way) => ({
    way,
    needed: namespaces.flatMap((one) => routePermissions(way, one)).filter(isRequired),
  }));
  const asked = [
    ...new Map(
      [...common, ...needs.flatMap(({ needed }) => needed)].map((one) => [keyOf(one), one]),
    ).values(),
  ];
  const lacking = new Set((await missing(api, asked)).map(keyOf));
  const lackingOf = (wanted: Permission[]): Permission[] => wanted.filter((one) => lacking.has(keyOf(one)));
  return {
    asked,
    lacking: lackingOf(common),
    ways: needs.map(({ way, needed }) => ({ way, lacking: lackingOf(needed) })),
  };
}

export function rightsFor(api: ClusterApi, target: Target, choice: RouteChoice): Promise<Rights> {
  const parts = { webhooks: target.services.length > 0, deployment: target.deployment !== undefined };
  return askRights(api, namespacesOf(target), parts, choice);
}

/** The ways that the account may take; where there is none, all that is missing for the first one is told. Pure. */
export function permittedWays(api: Pick<ClusterApi, 'context'>, { lacking, ways }: Rights): Way[] {
  const open = ways.filter((one) => one.lacking.length === 0).map(({ way }) => way);
  const closed = open.length === 0 ? (ways[0]?.lacking ?? []) : [];
  if (lacking.length + closed.length > 0) throw forbidden(api, [...lacking, ...closed]);
  return open;
}

/** Why a way that would come first is not tried. Pure. */
export function untried({ ways }: Rights): string[] {
  const closed = ways.filter((one) => one.lacking.length > 0);
  return closed.map(({ way, lacking }) => {
    const kinds = [
      ...new Set(lacking.map(({ kind, subresource }) => (subresource ? `${kind}/${subresource}` : kind))),
    ];
    return `The ${nameOf(way)} route is not tried: your account lacks permissions on ${kinds.join(', ')}.`;
  });
}

/** What `up` needs in a namespace, whichever route the reviews take. */
export function commonPermissions(
  namespace: string,
  parts: { webhooks: boolean; deployment: boolean },
): Permission[] {
  const webhooks = [servicePermissions, probeServicePermissions, probePermissions, discoveryPermissions];
  return [
    ...(parts.webhooks ? webhooks.flatMap((of) => of(namespace)) : []),
    ...(parts.deployment ? pausePermissions(namespace) : []),
  ];
}

/** What a route needs in addition. */
export function routePermissions(way: Way, namespace: string): Permission[] {
  if (way === 'relay') return relayPermissions(namespace);
  const nodes = permissionsOn('Node', 'list', {
    why: "find this machine's address",
    without: 'the direct route tries only the address that faces the API server',
  });
  return [...endpointPermissions(namespace), ...(way === 'direct' ? nodes : [])];
}

function isRequired({ without }: Permission): boolean {
  return without === undefined;
}

function keyOf({ kind, subresource = '', verb, namespace = '' }: Permission): string {
  return [kind, subresource, verb, namespace].join(' ');
}
