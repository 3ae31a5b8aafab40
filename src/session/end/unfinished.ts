import { isWebhookKind, type ObjectRef } from '../../cluster/api/kinds.ts';
import { escapeToken } from '../../cluster/marks/paths.ts';
import type { Fault, Remainder } from '../../cluster/marks/undo.ts';
import { SESSION_LABEL } from '../../cluster/names.ts';
import type { NotStarted } from '../../cluster/takeover/pause/why-not-started.ts';
import { ownChangeOf, type RestoreResult } from '../../cluster/takeover/restore-steps.ts';
import { DevloopError } from '../../errors.ts';
import { shellQuoted, shellWord } from '../../phrases.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice, type Told } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';
import type { RestoreSummary } from './restore-pass.ts';

/**
 * Called after everything that devloop can restore is restored. Throws if the user still has something to do: if devloop left objects
 * unchanged, or if a manager cannot start.
 */
export function refuseUnfinished(left: RestoreResult[], notStarted: NotStarted[]): void {
  const [first, ...others] = notStarted;
  if (first !== undefined) throw cannotStart(first, others);
  if (left.length > 0) throw incomplete(left);
}

function cannotStart(first: NotStarted, others: NotStarted[]): DevloopError {
  const texts = [first, ...others].map(
    ({ ref, cause }) => `${describe(ref)} is resumed, but cannot start: ${cause}`,
  );
  const { kind, namespace, name } = first.look;
  const hint = `kubectl -n ${shellWord(namespace)} describe ${kind.toLowerCase()} ${shellWord(name)}`;
  return new DevloopError('manager.not-started', texts.join('\n'), { hint });
}

function incomplete(left: RestoreResult[]): DevloopError {
  const objects = left.map(({ ref }) => describe(ref)).join(', ');
  const message = `Somebody else changed ${objects} during the session, so devloop left those changes in place.`;
  const hint =
    left.length === 1
      ? 'The warnings above show how to restore it.'
      : 'The warnings above show how to restore each.';
  return new DevloopError('undo.incomplete', message, { hint });
}

/** Warns of each object that devloop left as it is, with the command that restores it. */
export function reportKept({ context, left }: Pick<RestoreSummary, 'context' | 'left'>, emit: Emit): void {
  for (const { ref, kept } of left)
    for (const one of kept)
      emit('fault' in one ? brokenUndo(context, ref, one) : keptNotice(context, ref, one));
}

function keptNotice(
  context: string,
  ref: ObjectRef,
  { path, now = null, before }: Exclude<Remainder, Fault>,
): DevloopEvent {
  const command = `${kubectl(context, ref, 'patch')} ${restoringPatch(ref, path, before)}`;
  const values = { object: ref, field: path.join('.'), now, before: before ?? null, command };
  return notice('restore.kept', values);
}

/**
 * The session's label stays on such an object, so that `down` finds it again. The command in the hint removes the label together with the
 * undo.
 */
export function brokenUndo(context: string, ref: ObjectRef, { fault, isUnmarked }: Fault): Told<'warning'> {
  const command = isUnmarked ? undefined : unmarking(context, ref);
  return notice('restore.undo-broken', { object: ref, fault, command });
}

function unmarking(context: string, ref: ObjectRef): string {
  const { map, key } = ownChangeOf(ref.kind)!.store;
  const unlabel = `${kubectl(context, ref, 'label')} ${SESSION_LABEL}-`;
  return map === 'labels'
    ? `${unlabel} ${key}-`
    : `${unlabel} && ${kubectl(context, ref, 'annotate')} ${key}-`;
}

function kubectl(context: string, { kind, namespace, name }: ObjectRef, verb: string): string {
  return `kubectl --context ${shellWord(context)} ${namespace ? `-n ${shellWord(namespace)} ` : ''}${verb} ${kind.toLowerCase()} ${shellWord(name)}`;
}

/** The arguments of a kubectl patch, with quotes escaped for the shell. */
function restoringPatch({ kind }: ObjectRef, path: string[], before: unknown): string {
  const [type, patch] = isWebhookKind(kind) ? webhookPatch(path, before) : jsonPatch(path, before);
  return `--type ${type} -p ${shellQuoted(JSON.stringify(patch))}`;
}

/** A strategic merge patch finds the webhook by its name; a JSON patch would need its index. */
function webhookPatch([list = '', name = '', field = '']: string[], before: unknown): [string, object] {
  return ['strategic', { [list]: [{ name, [field]: before ?? null }] }];
}

/** Uses a JSON patch, because a merge patch would merge values that are maps. */
function jsonPatch(path: string[], before: unknown): [string, object] {
  const pointer = path.map((key) => `/${escapeToken(key)}`).join('');
  const patch = [
    before === undefined ? { op: 'remove', path: pointer } : { op: 'add', path: pointer, value: before },
  ];
  return ['json', patch];
}
