/**
 * Finds out whether NetworkPolicies block kube-apiserver from the relay's Pod. Some clusters have NetworkPolicies but do not enforce them.
 */

import { shellQuoted } from '../../phrases.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ObjectName } from '../../report/object-name.ts';
import type { ClusterApi } from '../api/client.ts';
import { type Labels, selects } from '../api/labels.ts';
import type { NetworkPolicy } from '../api/objects.ts';
import { RELAY_LABEL, RELAY_NAME } from '../names.ts';
import type { RelayPort } from './manifest.ts';

type Ingress = NonNullable<NetworkPolicy['spec']['ingress']>[number];

export interface PolicyQuestion {
  namespace: string;
  /** Labels of the manager's Pods; undefined if there are none. */
  manager: Labels | undefined;
  relay: Labels;
  ports: RelayPort[];
}

/** A warning and a note about the namespace's policies; none if the policies cannot be listed. */
export async function networkPolicyNotices(
  api: ClusterApi,
  question: PolicyQuestion,
): Promise<DevloopEvent[]> {
  const policies = await api
    .list<NetworkPolicy>('NetworkPolicy', question.namespace)
    .catch((): NetworkPolicy[] => []);
  return judgePolicies(policies, question);
}

/** A warning about the ports that no policy opens to everybody, and a note about policies that apply only to the manager. */
export function judgePolicies(
  policies: NetworkPolicy[],
  { namespace, manager, relay, ports }: PolicyQuestion,
): DevloopEvent[] {
  const incoming = policies.filter(isAboutIngress);
  const onRelay = incoming.filter(({ spec }) => selects(spec.podSelector, relay));
  const onManagerOnly = incoming.filter(
    (one) => manager !== undefined && selects(one.spec.podSelector, manager) && !onRelay.includes(one),
  );
  // Policies add up: a port is open if one of them opens it.
  const closed = ports.filter(
    (port) => !onRelay.some((one) => one.spec.ingress?.some((rule) => opens(rule, port))),
  );
  const warning = onRelay.length > 0 && closed.length > 0 ? [blocked(namespace, onRelay, closed)] : [];
  const note = onManagerOnly.length > 0 ? [bypassed(namespace, onManagerOnly)] : [];
  return [...warning, ...note];
}

function blocked(namespace: string, policies: NetworkPolicy[], ports: RelayPort[]): DevloopEvent {
  const numbers = [...new Set(ports.map(({ port }) => port))];
  const command = `echo ${shellQuoted(JSON.stringify(opening(namespace, numbers)))} | kubectl apply -f -`;
  return notice('relay.policies-block', { policies: named(namespace, policies), ports: numbers, command });
}

function bypassed(namespace: string, policies: NetworkPolicy[]): DevloopEvent {
  return notice('relay.policies-bypassed', { policies: named(namespace, policies) });
}

function named(namespace: string, policies: NetworkPolicy[]): ObjectName[] {
  return policies.map(({ metadata }) => ({ kind: 'NetworkPolicy', namespace, name: metadata.name }));
}

/** One policy for the relays of all sessions, so it is needed only once. */
function opening(namespace: string, ports: number[]): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: RELAY_NAME, namespace },
    spec: {
      podSelector: { matchExpressions: [{ key: RELAY_LABEL, operator: 'Exists' }] },
      policyTypes: ['Ingress'],
      ingress: [{ ports: ports.map((port) => ({ port, protocol: 'TCP' })) }],
    },
  };
}

/** A policy without types applies to ingress. */
function isAboutIngress({ spec }: NetworkPolicy): boolean {
  return spec.policyTypes?.includes('Ingress') ?? true;
}

/** Only rules that admit everybody count: no label selects kube-apiserver, and its address is often outside the cluster. */
function opens({ from = [], ports = [] }: Ingress, { name, port }: RelayPort): boolean {
  const everybody = from.length === 0 || from.some(({ ipBlock }) => isEverywhere(ipBlock));
  const number = ports.some((one) => {
    if (one.protocol !== undefined && one.protocol !== 'TCP') return false;
    if (one.port === undefined || (name !== undefined && one.port === name)) return true;
    return typeof one.port === 'number' && port >= one.port && port <= (one.endPort ?? one.port);
  });
  return everybody && (ports.length === 0 || number);
}

function isEverywhere(block: { cidr: string; except?: string[] } | undefined): boolean {
  return block?.cidr.endsWith('/0') === true && (block.except ?? []).length === 0;
}
