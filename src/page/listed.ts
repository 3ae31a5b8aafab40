import { type Entry, isQuiet } from './entry.ts';
import { type Below, type Group, isRequest } from './groups.ts';
import { isEmpty, matches, type Query, wantsReads } from './query.ts';
import type { Request } from './requests-of-clients.ts';

/** One row of the list. */
export interface ListRow {
  shown: Entry | Request;
  group: Group;
  depth: number;
  /** Whether what is below it is shown; absent if nothing is. */
  isOpen?: boolean;
}

export interface Listed {
  rows: ListRow[];
  /** How many entries the query selects, and of how many. */
  found: number;
  all: number;
}

/** `chosen`: whether somebody has opened or closed the group of this id. */
export function listed(groups: Group[], query: Query, chosen: (id: string) => boolean | undefined): Listed {
  const list: Listed = { rows: [], found: 0, all: 0 };
  const hasReads = wantsReads(query);
  for (const group of groups)
    if (hasReads || !isQuietGroup(group)) add(list, group, query, chosen(group.head.id));
  return list;
}

function isQuietGroup({ head }: Group): boolean {
  return !isRequest(head) && isQuiet(head);
}

function add(list: Listed, group: Group, query: Query, chosen: boolean | undefined): void {
  const { head, below } = group;
  const own = isRequest(head) ? 0 : 1;
  const { isHead, members } = selectedIn(group, query);
  list.all += own + below.length;
  list.found += (isHead ? own : 0) + members.length;
  if (!isHead && members.length === 0) return;
  // If only what is below it was found, it is shown at once.
  const isOpen = chosen ?? !isHead;
  list.rows.push({ shown: head, group, depth: 0, ...(below.length > 0 ? { isOpen } : {}) });
  if (isOpen) list.rows.push(...(isHead ? below : members).map((one) => rowOf(one, group)));
}

/** Whether the query selects the head, which for a request means one of its reviews, and what it selects below it. */
function selectedIn({ head, below }: Group, query: Query): { isHead: boolean; members: Below[] } {
  if (isEmpty(query)) return { isHead: true, members: below };
  const heads = isRequest(head) ? head.reviews : [head];
  return {
    isHead: heads.some((one) => matches(query, one)),
    members: below.filter(({ entry }) => matches(query, entry)),
  };
}

function rowOf({ entry, depth }: Below, group: Group): ListRow {
  return { shown: entry, group, depth };
}
