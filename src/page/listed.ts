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
  /** What is shown in the same row. */
  again?: Entry[];
}

export interface Listed {
  rows: ListRow[];
  /** How many groups the query selects something in, and of how many. */
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
  const { head, below, again } = group;
  const { isHead, members } = selectedIn(group, query);
  list.all += 1;
  if (!isHead && members.length === 0) return;
  list.found += 1;
  // If only what is below it was found, it is shown at once.
  const isOpen = chosen ?? !isHead;
  const row = { shown: head, group, depth: 0, ...(again && { again }) };
  list.rows.push({ ...row, ...(below.length > 0 ? { isOpen } : {}) });
  if (isOpen) list.rows.push(...(isHead ? below : members).map((one) => rowOf(one, group)));
}

/** Whether the query selects the head, which for a request means one of its reviews, and what it selects below it. */
function selectedIn({ head, below, again = [] }: Group, query: Query): { isHead: boolean; members: Below[] } {
  if (isEmpty(query)) return { isHead: true, members: below };
  const heads = isRequest(head) ? head.reviews : [head, ...again];
  const isSelected = (one: Entry): boolean => matches(query, one);
  return {
    isHead: heads.some(isSelected),
    members: below.filter(({ entry, again: others = [] }) => isSelected(entry) || others.some(isSelected)),
  };
}

function rowOf({ entry, depth, again }: Below, group: Group): ListRow {
  return { shown: entry, group, depth, ...(again && { again }) };
}

/** The row of an entry or a request, also if it shares that of another one; -1 if it has none. */
export function rowOfId(rows: ListRow[], id: string | undefined): number {
  if (id === undefined) return -1;
  return rows.findIndex(({ shown, again }) => shown.id === id || again?.some((one) => one.id === id));
}
