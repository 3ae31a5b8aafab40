import { type Found, unseenText } from '../../cluster/takeover/find-marked.ts';
import { AGAIN } from '../../errors.ts';
import type { DevloopEvent, Searched } from '../../report/events.ts';
import type { CommandContext } from './context.ts';

/** Where sessions were looked for. `namespace`: the only namespace that the user asked about. */
export function searchedIn(
  { api }: Pick<CommandContext, 'api'>,
  { only, unseen }: Found,
  namespace: string | undefined,
): Searched {
  const namespaces = namespace === undefined ? only : [namespace];
  return {
    context: api.context,
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(unseen.length === 0 ? {} : { incomplete: true }),
  };
}

/** Warnings about places where devloop could not look. */
export function unsearched({ unseen, only }: Found, namespace: string | undefined): DevloopEvent[] {
  const warnings: DevloopEvent[] = [];
  const other = { hint: `If the operator is in another namespace: ${AGAIN} -n NAMESPACE` };
  if (unseen.length > 0) {
    const message = `Your account is not allowed to list ${unseenText(unseen)}, so devloop's changes there cannot be detected.`;
    warnings.push({ type: 'warning', message, ...other });
  } else if (only !== undefined && namespace === undefined) {
    const message = `Your account is not allowed to list the whole cluster, so devloop looked only in ${only.join(', ')}.`;
    warnings.push({ type: 'warning', message, ...other });
  }
  return warnings;
}
