import type { ClusterApi } from './client.ts';
import { ApiError } from './errors.ts';
import type { CallOptions } from './transport.ts';

/** Whom the API server takes us for. */
export interface Account {
  username?: string;
  groups?: string[];
}

const PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** Undefined where the API server does not say: Kubernetes has this API since 1.28. */
export async function accountOf(api: ClusterApi, options: CallOptions = {}): Promise<Account | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const review = await api.call<{ status?: { userInfo?: Account } }>('POST', PATH, body, options);
    return review.status?.userInfo;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.isForbidden)) return undefined;
    throw error;
  }
}
