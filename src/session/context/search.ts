import { resourcesOf, type SearchResult } from '../../cluster/takeover/find-marked.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Searched } from '../../report/session-status.ts';
import type { CommandContext } from './context.ts';

/** Where sessions were looked for. `namespace`: the only namespace that the user asked about. */
export function searchedIn(
  { api }: Pick<CommandContext, 'api'>,
  { only, unseen }: SearchResult,
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
export function unsearched({ unseen, only }: SearchResult, namespace: string | undefined): DevloopEvent[] {
  if (unseen.length > 0) return [notice('search.unseen', { resources: resourcesOf(unseen) })];
  if (only === undefined || namespace !== undefined) return [];
  return [notice('search.partial', { namespaces: only })];
}
