import type { ClusterApi } from './client.ts';
import { isForbidden, isNotFound } from './errors.ts';
import type { CallOptions } from './transport.ts';

/** How the API server identifies the user. */
export interface Account {
  username?: string;
  groups?: string[];
}

const PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** Asks who the user is. Resolves to undefined if the API server does not have this API (before Kubernetes 1.28) or denies access to it. */
export async function accountOf(api: ClusterApi, options: CallOptions = {}): Promise<Account | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const review = await api.call<{ status?: { userInfo?: Account } }>('POST', PATH, body, options);
    return review.status?.userInfo;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}
