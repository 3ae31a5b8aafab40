import type { ClusterApi } from './client.ts';
import { isForbidden, isNotFound } from './errors.ts';
import type { CallOptions } from './transport.ts';

/** How the API server identifies the user. */
export interface Account {
  username?: string;
  groups?: string[];
}

export const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** What the API server says about a request, beginning with when it arrived: `2026-01-01T00:00:00Z`. */
export interface SelfReview {
  metadata?: { creationTimestamp?: string | null };
  status?: { userInfo?: Account };
}

/** Resolves to undefined if the API server does not have this API (before Kubernetes 1.28) or denies access to it. */
export async function selfReview(
  api: ClusterApi,
  options: CallOptions = {},
): Promise<SelfReview | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    return await api.call<SelfReview>('POST', SELF_REVIEWS, body, options);
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

/** Asks who the user is; undefined as for `selfReview`. */
export async function accountOf(api: ClusterApi, options: CallOptions = {}): Promise<Account | undefined> {
  return (await selfReview(api, options))?.status?.userInfo;
}
