import { allDone } from '../../async.ts';
import { accountOf } from '../../cluster/api/account.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isWorkload } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { judgeConsequence, type Taken, type TakenObject } from '../../cluster/takeover/consequences.ts';
import { asksWhoWeAre, relationTo } from '../../cluster/takeover/own-writes.ts';
import type { Reviewed } from '../../cluster/takeover/reviewed.ts';
import type { OwnAnswers } from '../../gateway/own.ts';
import { shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';

/** Whose changes a session answers for, in place of the operator. */
export interface OwnChanges {
  api: ClusterApi;
  sessionId: string;
  /** Further accounts that count as devloop's own, and as the control plane's. */
  trusted: readonly string[];
  emit: Emit;
}

/** Answers reviews of the writes that devloop itself has sent: they must not depend on a controller that may be gone. */
export function ownWrites({ api, trusted, emit }: OwnChanges): OwnAnswers {
  const isOurs = ownAccount(api, trusted);
  const warned = new Set<string>();
  return {
    others: 'forward',
    isExpecting: () => api.writes.size > 0,
    async judge(request) {
      const review = request as Reviewed;
      const writes = [...api.writes].map((write) => ({ write, is: relationTo(review, write) }));
      const about = writes.filter(({ is }) => is !== undefined);
      if (about.length === 0) return undefined;
      const username = review.userInfo?.username ?? '';
      if (!about.some(({ write }) => asksWhoWeAre(write)) && !(await isOurs(username))) {
        reportUnknown(username, warned, emit);
        return 'unknown';
      }
      return about.some(({ is }) => is === 'its') ? 'allow' : 'conflict';
    },
  };
}

/** Answers reviews of what Kubernetes writes because a session pauses or resumes what it took over. */
export function consequences(
  { api, sessionId, trusted, emit }: OwnChanges,
  objects: TakenObject[],
  others: OwnAnswers['others'],
): OwnAnswers {
  const warned = new Set<string>();
  const read: Taken['read'] = async (ref) => await api.get<KubeObject>(ref).catch(() => undefined);
  // Somebody may have deployed a new version since the target was read.
  const current = allDone(
    objects.map(async (one) => (isWorkload(one.ref.kind) ? { ...one, now: await read(one.ref) } : one)),
  );
  return {
    others,
    isExpecting: () => true,
    async judge(request) {
      const review = request as Reviewed;
      const taken = { sessionId, objects: await current, read };
      const verdict = await judgeConsequence(review, taken, (username) => trusted.includes(username));
      if (verdict === 'other') return undefined;
      if (verdict === 'consequence') return 'allow';
      reportUnknown(review.userInfo?.username ?? '', warned, emit);
      return 'unknown';
    },
  };
}

/** Whoever reaches the port can make up names. */
const MOST_NAMED = 5;

function reportUnknown(username: string, warned: Set<string>, emit: Emit): void {
  if (warned.has(username) || warned.size >= MOST_NAMED) return;
  warned.add(username);
  const message = `Account ${username} changes what devloop pauses or restores, but devloop does not know this account, so it does not answer the review in place of the operator.`;
  const hint = `If it is an account of the control plane: devloop down --trust-account ${shellWord(username)} (devloop up has the same flag)`;
  emit({ type: 'warning', message, hint });
}

/** A proxy in front of the API server may use several accounts for one user. */
const MOST_ASKED = 3;

/** Whether an account is the one that devloop has, as the API server knows it. A renewed login may have another one. */
function ownAccount(api: ClusterApi, trusted: readonly string[]): (username: string) => Promise<boolean> {
  const known = new Set(trusted);
  const ask = async (): Promise<void> => {
    const account = await accountOf(api).catch(() => undefined);
    if (account?.username) known.add(account.username);
  };
  // It may be too late once the operator's webhooks need an answer.
  const first = ask();
  return async (username) => {
    await first;
    for (let asked = 1; asked < MOST_ASKED && !known.has(username); asked++) await ask();
    return known.has(username);
  };
}
