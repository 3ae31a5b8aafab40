import { isWebhookKind, type ObjectRef } from '../../cluster/api/kinds.ts';
import { escapeToken } from '../../cluster/marks/paths.ts';
import type { Fault, Kept } from '../../cluster/marks/undo.ts';
import { SESSION_LABEL } from '../../cluster/names.ts';
import type { NotStarted } from '../../cluster/takeover/pause/why-not-started.ts';
import { type Left, ownChangeOf } from '../../cluster/takeover/restore-steps.ts';
import { DevloopError } from '../../errors.ts';
import { shellQuoted, shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { describe } from '../../report/object-name.ts';
import type { Restored } from './restore-pass.ts';

/**
 * Called after everything that devloop can restore is restored. Throws if the user still has something to do: if devloop left objects
 * unchanged, or if a manager cannot start.
 */
export function refuseUnfinished(left: Left[], notStarted: NotStarted[]): void {
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

function incomplete(left: Left[]): DevloopError {
  const objects = left.map(({ ref }) => describe(ref)).join(', ');
  const message = `Somebody else changed ${objects} during the session, so devloop left those changes in place.`;
  const hint =
    left.length === 1
      ? 'The warnings above show how to restore it.'
      : 'The warnings above show how to restore each.';
  return new DevloopError('undo.incomplete', message, { hint });
}

/** Warns of each object that devloop left as it is, with the command that restores it. */
export function reportKept({ context, left }: Pick<Restored, 'context' | 'left'>, emit: Emit): void {
  for (const { ref, kept } of left)
    for (const one of kept)
      emit({
        type: 'warning',
        ...('fault' in one ? faultText(context, ref, one) : keptText(context, ref, one)),
      });
}

function keptText(
  context: string,
  ref: ObjectRef,
  { path, now, before }: Exclude<Kept, Fault>,
): { message: string; hint: string } {
  return {
    message: `${describe(ref)}: ${path.join('.')} was changed by somebody else to ${JSON.stringify(now ?? null)}, so devloop left it unchanged. Before the session it was ${JSON.stringify(before ?? null)}.`,
    hint: `${kubectl(context, ref, 'patch')} ${restoringPatch(ref, path, before)}`,
  };
}

/**
 * The session's label stays on such an object, so that `down` finds it again. The command in the hint removes the label together with the
 * undo.
 */
export function faultText(
  context: string,
  ref: ObjectRef,
  { fault, isUnmarked }: Fault,
): { message: string; hint: string } {
  if (isUnmarked)
    return {
      message: `${describe(ref)} ${fault}, but has lost devloop's labels, so devloop cannot restore it. It was left unchanged.`,
      hint: 'Restore it by hand: deploy the operator again.',
    };
  return {
    message: `${describe(ref)} has devloop's label, but ${fault}. It was left unchanged.`,
    hint: `Restore it by hand (deploy the operator again), then: ${unmarking(context, ref)}`,
  };
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
