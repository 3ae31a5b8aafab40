/** Why a session ends because of what others do to its objects, and what to do about it. */

import type { ClusterApi } from '../../cluster/api/client.ts';
import { isWorkload, type ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { controllerOf } from '../../cluster/api/ownership.ts';
import type { Workload } from '../../cluster/api/workloads.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { judgeOwner, type Owner, ownerKindOf, ownersOf, readPolicy } from '../../operator/owners.ts';
import { shellWord, writerText } from '../../phrases.ts';
import { DEPLOY_AGAIN } from '../../report/notices/guard.ts';
import { describe } from '../../report/object-name.ts';
import type { OverwrittenField } from './judge.ts';

/** The object, or its namespace, was deleted. */
export async function gone(api: ClusterApi, ref: ObjectRef): Promise<DevloopError> {
  const uninstalled = `${describe(ref)} was deleted: the operator is uninstalled.`;
  return (await goneWithNamespace(api, ref)) ?? targetGone(uninstalled);
}

/** The error if the object's namespace is being deleted; undefined if it is not. */
export async function goneWithNamespace(api: ClusterApi, ref: ObjectRef): Promise<DevloopError | undefined> {
  if (!(await isNamespaceEnding(api, ref))) return undefined;
  return targetGone(`Namespace ${ref.namespace} is being deleted, and ${describe(ref)} with it.`);
}

function targetGone(message: string): DevloopError {
  return new DevloopError('target.gone', message, { hint: DEPLOY_AGAIN });
}

/** Whether the object's namespace is gone or being deleted; false if the account is not allowed to read Namespaces. */
async function isNamespaceEnding(api: ClusterApi, { namespace }: ObjectRef): Promise<boolean> {
  if (namespace === undefined) return false;
  try {
    const found = await api.get<KubeObject>({ kind: 'Namespace', name: namespace });
    return found === undefined || found.metadata.deletionTimestamp !== undefined;
  } catch {
    return false;
  }
}

export function restoredElsewhere(ref: ObjectRef): DevloopError {
  const message = `${describe(ref)} was restored by another devloop, so this session has ended.`;
  return new DevloopError('session.lost', message, { hint: 'devloop status' });
}

export function takenBy(ref: ObjectRef, sessionId: string): DevloopError {
  const message = `${describe(ref)} was taken over by session ${sessionId}.`;
  return new DevloopError('session.lost', message, { hint: 'devloop status' });
}

/** Somebody keeps overwriting an object: the error names the writer and the setting that stops it. */
export async function fought(
  api: ClusterApi,
  ref: ObjectRef,
  object: KubeObject,
  overwritten: OverwrittenField,
): Promise<DevloopError> {
  const { path, ours, now, by } = overwritten;
  const field = path.join('.');
  const values = `from ${JSON.stringify(ours ?? null)} to ${JSON.stringify(now ?? null)}`;
  const message = `${by === undefined ? 'Somebody' : writerText(by)} changes ${field} of ${describe(ref)} ${values} each time devloop writes it.`;
  return new DevloopError('session.overwritten', message, {
    hint: await peaceHint(api, ref, object, overwritten),
  });
}

/** Somebody keeps deleting an object. A deleted object does not show who deleted it. */
export function deletedAgain(ref: ObjectRef): DevloopError {
  const message = `Somebody deletes ${describe(ref)} each time devloop creates it.`;
  const hint = `Kubernetes does not record who deletes an object, except in the API server's audit log.\n${otherWay(ref)}`;
  return new DevloopError('session.overwritten', message, { hint });
}

/** A way to work without the field that somebody else keeps writing. */
function otherWay({ kind }: ObjectRef): string {
  if (isWorkload(kind))
    return `If the manager elects a leader, its Lease can be held instead: ${AGAIN} --pause lease`;
  if (kind === 'Endpoints' || kind === 'EndpointSlice')
    return `The relay route does not need these objects: ${AGAIN} --route relay`;
  return '';
}

async function peaceHint(
  api: ClusterApi,
  ref: ObjectRef,
  object: KubeObject,
  { path, by }: OverwrittenField,
): Promise<string> {
  const manager = by?.manager;
  const owner = ownerWriting(object, manager);
  const again = ['Then run devloop up again.', otherWay(ref)].filter(Boolean).join('\n');
  if (owner === undefined)
    return `${strangerHint(ref, object, manager)}\n${await pauseOf(api, ref, manager)}${again}`;
  const { pause } = judgeOwner(owner, await readPolicy(api, owner));
  const ignoring =
    owner.kind === 'Argo CD'
      ? `\nOr let the Application ignore the field: spec.ignoreDifferences with jsonPointers ["/${path.join('/')}"], and the sync option RespectIgnoreDifferences=true.`
      : '';
  return `${pause || `Do not upgrade the ${owner.kind} release while devloop up runs.`}${ignoring}\n${again}`;
}

/** The tool that the writer belongs to, with the name that the object's labels give it. */
function ownerWriting(object: KubeObject, manager: string | undefined): Owner | undefined {
  const kind = manager === undefined ? undefined : ownerKindOf(manager);
  return ownersOf(object).find((owner) => owner.kind === kind);
}

function strangerHint(ref: ObjectRef, { metadata }: KubeObject, manager: string | undefined): string {
  const parent = controllerOf(metadata);
  const stop =
    manager === undefined ? 'Find out who writes it, and stop them' : `Stop ${manager} from writing it`;
  if (parent !== undefined)
    return `It belongs to ${parent.kind} ${parent.name}, whose own operator writes it. Pause that operator, or change it through ${parent.kind} ${parent.name}.`;
  return `${stop}; kubectl -n ${shellWord(ref.namespace)} get ${ref.kind.toLowerCase()} ${shellWord(ref.name)} -o yaml --show-managed-fields shows who owns each field.`;
}

/**
 * A line with the command that pauses the writer, or nothing. Most programs write under their own name, which is often also the name of
 * their Deployment.
 */
async function pauseOf(
  api: ClusterApi,
  { namespace }: ObjectRef,
  manager: string | undefined,
): Promise<string> {
  if (namespace === undefined || manager === undefined || !OBJECT_NAME.test(manager)) return '';
  const found = await api
    .get<Workload>({ kind: 'Deployment', namespace, name: manager })
    .catch(() => undefined);
  if ((found?.spec?.replicas ?? 0) === 0) return '';
  return `kubectl -n ${shellWord(namespace)} scale deployment ${shellWord(manager)} --replicas=0\n`;
}

const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
