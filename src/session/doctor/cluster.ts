import type { ClusterApi } from '../../cluster/api/client.ts';
import { ApiError } from '../../cluster/api/errors.ts';
import type { Check, Finding } from './check.ts';

/** `v1.36.3`, as the API server calls itself, and how long that answer took. */
export interface Version {
  gitVersion: string;
  latencyMs: number;
}

/** A second call, over the connection that the first one opened: what every later call costs. */
export async function readVersion(api: ClusterApi): Promise<Version> {
  await api.call('GET', '/version');
  const started = performance.now();
  const { gitVersion } = await api.call<{ gitVersion: string }>('GET', '/version');
  return { gitVersion, latencyMs: performance.now() - started };
}

export function clusterCheck(api: ClusterApi, version: Promise<Version>): Check {
  return {
    name: 'cluster',
    limitSeconds: 60,
    async run() {
      const { gitVersion, latencyMs } = await version;
      return {
        verdict: 'ok',
        answer: `Kubernetes ${gitVersion} at ${api.server}`,
        proof: `context ${api.context} of ${api.kubeconfigFiles.join(', ')}; GET /version`,
        latencyMs,
      };
    },
  };
}

interface Review {
  status?: { userInfo?: { username?: string; groups?: string[] } };
}

export function accountCheck(api: ClusterApi, reached: Promise<unknown>): Check {
  return {
    name: 'account',
    limitSeconds: 30,
    aside: true,
    async run() {
      await reached;
      return accountFinding(await reviewSelf(api));
    },
  };
}

const PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

async function reviewSelf(api: ClusterApi): Promise<Review | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    return await api.call<Review>('POST', PATH, body);
  } catch (error) {
    // Kubernetes has it since 1.28.
    if (error instanceof ApiError && (error.status === 404 || error.isForbidden)) return undefined;
    throw error;
  }
}

function accountFinding(review: Review | undefined): Finding {
  const { username, groups = [] } = review?.status?.userInfo ?? {};
  if (username === undefined)
    return { verdict: 'unknown', answer: 'the API server does not tell who this account is' };
  const named = groups.length > 0 ? `, groups ${groups.join(', ')}` : '';
  return { verdict: 'ok', answer: username, proof: `SelfSubjectReview: user ${username}${named}` };
}
