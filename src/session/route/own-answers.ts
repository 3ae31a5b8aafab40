import { allDone } from '../../async.ts';
import { accountOf } from '../../cluster/api/account.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isWorkload } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { judgeConsequence } from '../../cluster/takeover/consequences.ts';
import { asksWhoWeAre, relationTo } from '../../cluster/takeover/own-writes.ts';
import type { AdmissionRequest } from '../../cluster/takeover/reviewed.ts';
import type { TakenObject, TakenObjects } from '../../cluster/takeover/taken.ts';
import { isOfKubernetes, type OwnAnswers, shownAccount } from '../../gateway/own.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

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
  const reportUnknown = unknownAccounts(emit);
  return {
    others: 'forward',
    isExpecting: () => api.writes.size > 0,
    async judge(request) {
      const review = request as AdmissionRequest;
      const writes = [...api.writes].map((write) => ({ write, is: relationTo(review, write) }));
      const about = writes.filter(({ is }) => is !== undefined);
      if (about.length === 0) return undefined;
      const username = review.userInfo?.username ?? '';
      if (!about.some(({ write }) => asksWhoWeAre(write)) && !(await isOurs(username))) {
        reportUnknown(username);
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
  const reportUnknown = unknownAccounts(emit);
  const read: TakenObjects['read'] = async (ref) => await api.get<KubeObject>(ref).catch(() => undefined);
  // Somebody may have deployed a new version since the target was read.
  const current = allDone(
    objects.map(async (one) => (isWorkload(one.ref.kind) ? { ...one, now: await read(one.ref) } : one)),
  );
  return {
    others,
    isExpecting: () => true,
    async judge(request) {
      const review = request as AdmissionRequest;
      const taken = { sessionId, objects: await current, read };
      const verdict = await judgeConsequence(review, taken, (username) => trusted.includes(username));
      if (verdict === 'other') return undefined;
      if (verdict === 'consequence') return 'allow';
      reportUnknown(review.userInfo?.username ?? '');
      return 'unknown';
    },
  };
}

/** Whoever reaches the port can make up names, of any number and length. */
const MOST_NAMED = 3;

/** Reports the accounts that devloop does not know: a few by name, then how often there was another one. */
function unknownAccounts(emit: Emit): (username: string) => void {
  const named = new Set<string>();
  let others = 0;
  return (username) => {
    const account = shownAccount(username);
    if (named.has(account)) return;
    if (named.size < MOST_NAMED) {
      named.add(account);
      // A name that was cut is not the account's, and one that needs quotes is made up.
      const isWhole = JSON.stringify(account) === `"${username}"`;
      const isControlPlane = isWhole && isOfKubernetes(username);
      return emit(notice('gateway.unknown-account', { account, isControlPlane }));
    }
    others++;
    if (/^10*$/.test(String(others))) emit(notice('gateway.unknown-accounts', { reviews: others }));
  };
}

/** A proxy in front of the API server may use several accounts for one user. */
const MOST_ASKED = 3;

/** Who devloop is does not depend on whose review it is, so made-up accounts cause no more questions than this. */
const ASKED_AGAIN_AFTER_MS = 2_000;

/** Whether an account is the one that devloop has, as the API server knows it. A renewed login may have another one. */
function ownAccount(api: ClusterApi, trusted: readonly string[]): (username: string) => Promise<boolean> {
  const known = new Set(trusted);
  const ask = async (): Promise<void> => {
    const account = await accountOf(api).catch(() => undefined);
    if (account?.username) known.add(account.username);
  };
  // It may be too late once the operator's webhooks need an answer.
  const first = ask();
  const askAgain = async (username: string): Promise<void> => {
    for (let asked = 1; asked < MOST_ASKED && !known.has(username); asked++) await ask();
  };
  let latest = { at: Number.NEGATIVE_INFINITY, done: first };
  return async (username) => {
    await first;
    if (known.has(username)) return true;
    const now = performance.now();
    if (now - latest.at >= ASKED_AGAIN_AFTER_MS) latest = { at: now, done: askAgain(username) };
    await latest.done;
    return known.has(username);
  };
}
