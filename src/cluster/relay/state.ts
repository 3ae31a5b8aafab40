/** The relay's state, derived from the status of its Pod. */
import { AGAIN } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { type ApiError, UNANSWERED_WEBHOOK } from '../api/errors.ts';
import { kindInfo, type ObjectRef } from '../api/kinds.ts';
import type { ContainerStatus, Pod } from '../api/workloads.ts';
import { RELAY_LABEL } from '../names.ts';
import { RELAY_CONTAINER } from './manifest.ts';

export type RelayState =
  | { is: 'ready' }
  /** `for` follows "waiting for" in a message. */
  | { is: 'starting'; for: string }
  | { is: 'failed'; cause: string; hint?: string }
  /** The Pod has ended, is terminating or was evicted, or its node is lost: another Pod has to replace it. */
  | { is: 'gone'; cause: string; hint?: undefined };

/** A cluster that adds nodes on demand may take minutes; in most clusters, waiting longer does not help. */
const UNSCHEDULABLE_GRACE_MS = 10_000;

const LOG_LINES = 10;

const OTHER_IMAGE = `Name an image with Node 20 or newer that the cluster's nodes can pull: ${AGAIN} --relay-image REGISTRY/node:24-alpine`;

const BAD_IMAGE = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
const BAD_CONTAINER = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);
const BAD_START = new Set(['StartError', 'ContainerCannotRun']);

/** `ageMs`: the time since the Pod was created. */
export function relayState(pod: Pod | undefined, ageMs: number): RelayState {
  if (pod === undefined) return { is: 'gone', cause: 'it was deleted' };
  if (pod.metadata.deletionTimestamp !== undefined) return { is: 'gone', cause: 'it is being deleted' };
  const container = pod.status?.containerStatuses?.find(({ name }) => name === RELAY_CONTAINER);
  return ended(pod, container) ?? waiting(container) ?? scheduling(pod, ageMs) ?? readiness(pod);
}

function ended({ status }: Pod, container: ContainerStatus | undefined): RelayState | undefined {
  const terminated = container?.state?.terminated;
  if (terminated && BAD_START.has(terminated.reason ?? ''))
    return { is: 'failed', cause: `its container does not start: ${terminated.message}`, hint: OTHER_IMAGE };
  if (status?.phase !== 'Succeeded' && status?.phase !== 'Failed' && !terminated) return undefined;
  if (status?.reason) return { is: 'gone', cause: textOf(status.reason, status.message) };
  if (terminated?.exitCode === 0) return { is: 'gone', cause: 'its program exited because it was not used' };
  const code = terminated ? ` with code ${terminated.exitCode}` : '';
  const reason = terminated?.reason && terminated.reason !== 'Error' ? ` (${terminated.reason})` : '';
  return { is: 'failed', cause: `its program exited${code}${reason}${lastWords(terminated?.message)}` };
}

function waiting(container: ContainerStatus | undefined): RelayState | undefined {
  const { reason = '', message } = container?.state?.waiting ?? {};
  if (BAD_IMAGE.has(reason))
    return { is: 'failed', cause: `its image cannot be used: ${textOf(reason, message)}`, hint: OTHER_IMAGE };
  if (BAD_CONTAINER.has(reason)) return { is: 'failed', cause: textOf(reason, message), hint: OTHER_IMAGE };
  return undefined;
}

function scheduling({ status }: Pod, ageMs: number): RelayState | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  const cause = `no node can run it: ${scheduled.message ?? scheduled.reason}`;
  if (ageMs < UNSCHEDULABLE_GRACE_MS) return { is: 'starting', for: `a node (${cause})` };
  return {
    is: 'failed',
    cause,
    hint: 'If the cluster adds nodes on demand, run the command again in a minute.',
  };
}

function readiness({ spec, status }: Pod): RelayState {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True') return { is: 'ready' };
  // The node controller sets these values once the node has stopped responding.
  if (ready?.reason === 'NodeNotReady' || ready?.status === 'Unknown')
    return { is: 'gone', cause: `its node ${spec?.nodeName ?? ''} is not responding` };
  return { is: 'starting', for: 'its image and its program' };
}

/** The kubelet copies the end of the log into the status: see terminationMessagePolicy. */
function lastWords(log: string | undefined): string {
  const lines = (log ?? '').trim().split('\n').filter(Boolean).slice(-LOG_LINES);
  return lines.length === 0 ? '' : `; its last lines:${lines.map((line) => `\n  ${line}`).join('')}`;
}

function textOf(reason: string, message: string | undefined): string {
  return message ? `${reason}: ${message}` : reason;
}

/** What to do about a refused creation. Only the text distinguishes the kinds of Forbidden. */
export function refusalHint(refusal: ApiError, { kind, namespace }: ObjectRef): string {
  const { message, status, hint = '' } = refusal;
  const get = `kubectl -n ${shellWord(namespace)} get`;
  if (/quota|must specify/.test(message)) return `${get} resourcequota shows what is left.`;
  if (refusal.isTerminating) return hint;
  if (/ usage per /.test(message)) return `${get} limitrange -o yaml shows what is allowed.`;
  if (/PodSecurity/.test(message))
    return `kubectl get namespace ${shellWord(namespace)} --show-labels shows the level.`;
  if (UNANSWERED_WEBHOOK.test(message))
    return `A webhook for Pods is not responding. Exclude Pods with the label ${RELAY_LABEL} from that webhook (objectSelector). If the webhook belongs to your operator, only the relay could answer it: end devloop up with Ctrl-C, and start it again.`;
  if (/webhook|ValidatingAdmissionPolicy/.test(message))
    return `A policy of the cluster forbids it: ask for an exception for Pods with the label ${RELAY_LABEL}.`;
  if (status === 403) return `kubectl auth can-i create ${kindInfo(kind).plural} -n ${shellWord(namespace)}`;
  return `${get} events --sort-by .lastTimestamp`;
}
