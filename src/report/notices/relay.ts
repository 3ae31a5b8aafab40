import { withNames } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** The Pod of the relay route. */
export const RELAY = {
  /** NetworkPolicies apply to the relay, and none of them opens these ports to everybody. `command` opens them. */
  'relay.policies-block': warning<{ policies: ObjectName[]; ports: number[]; command: string }>(
    ({ policies, ports }) =>
      `${policies.map(describe).join(', ')} may block kube-apiserver from ${withNames('port', ports)} of the relay.`,
    ({ command }) => `If no reviews arrive: ${command}`,
  ),
  /** NetworkPolicies protect the operator's Pods, but do not apply to the relay. */
  'relay.policies-bypassed': note<{ policies: ObjectName[] }>(
    ({ policies }) =>
      `${policies.map(describe).join(', ')} ${policies.length === 1 ? 'protects' : 'protect'} the operator's Pods but not the relay, so traffic that used to be blocked can now reach the webhook.`,
  ),
  /** The relay's Pod was evicted or deleted, or has crashed, and another one replaces it. */
  'relay.replaced': warning<{ pod: ObjectName; cause: string; by: ObjectName }>(
    (lost) => `${lostText(lost)} ${describe(lost.by)} replaces it.`,
  ),
  /** The relay's Pod is lost, and could not be replaced because of the `failure`. devloop keeps trying. `next`: what to do. */
  'relay.not-replaced': warning<{ pod: ObjectName; cause: string; failure: string; next?: string }>(
    (lost) => `${lostText(lost)} Replacing it failed: ${lost.failure}`,
    ({ next }) => [next, 'devloop keeps trying.'].filter(Boolean).join('\n'),
  ),
  /** The relay's Pod is lost and is not replaced, because somebody deleted its Secret, too. */
  'relay.lost': warning<{ pod: ObjectName; cause: string; secret: ObjectName }>(
    (lost) => `${lostText(lost)} It cannot be replaced, because ${describe(lost.secret)} was deleted, too.`,
    () => 'Stop this session with Ctrl-C, and run devloop up again.',
  ),
};

function lostText({ pod, cause }: { pod: ObjectName; cause: string }): string {
  return `${describe(pod)} is lost: ${cause}.`;
}
