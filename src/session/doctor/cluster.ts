import { type Account, selfReview } from '../../cluster/api/account.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Check, Finding, SelfReading, Version } from './check.ts';

/** Times a second call, over the connection that the first one opened, since every later call takes that long. */
export async function readVersion(api: ClusterApi): Promise<Version> {
  await api.call('GET', '/version');
  const started = performance.now();
  const { gitVersion } = await api.call<{ gitVersion: string }>('GET', '/version');
  return { gitVersion, latencyMs: performance.now() - started };
}

export async function readSelf(api: ClusterApi): Promise<SelfReading> {
  const fromMs = Date.now();
  const review = await selfReview(api);
  return { review, fromMs, toMs: Date.now() };
}

/** Does the API server answer? */
export const clusterCheck: Check = {
  name: 'cluster',
  limitSeconds: 60,
  async run({ context, version }) {
    const { api } = await context;
    const { gitVersion, latencyMs } = await version;
    return {
      verdict: 'ok',
      answer: `Kubernetes ${gitVersion} at ${api.server}`,
      proof: [
        `context ${api.context} of ${api.kubeconfigFiles.join(', ') || "this Pod's ServiceAccount"}`,
        'GET /version',
      ],
      latencyMs,
    };
  },
};

/** Who is this account? */
export const accountCheck: Check = {
  name: 'account',
  limitSeconds: 30,
  optional: true,
  async run({ self }) {
    return accountFinding((await self).review?.status?.userInfo);
  },
};

function accountFinding({ username, groups = [] }: Account = {}): Finding {
  if (username === undefined)
    return { verdict: 'unknown', answer: 'the API server does not report which account this is' };
  const named = groups.length > 0 ? [`groups ${groups.join(', ')}`] : [];
  return { verdict: 'ok', answer: username, proof: [`SelfSubjectReview: user ${username}`, ...named] };
}
