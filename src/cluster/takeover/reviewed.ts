import type { KubeObject } from '../api/objects.ts';

/** The `request` of an AdmissionReview, as far as it shows who writes what. */
export interface AdmissionRequest {
  operation?: string;
  /** In the version of the webhook's rule. */
  resource?: Resource;
  subResource?: string;
  /** In the version that the client wrote. */
  requestResource?: Resource;
  requestSubResource?: string;
  namespace?: string;
  name?: string;
  dryRun?: boolean;
  userInfo?: { username?: string };
  object?: (Partial<KubeObject> & { spec?: unknown }) | null;
  oldObject?: (Partial<KubeObject> & { spec?: unknown }) | null;
}

interface Resource {
  group?: string;
  version?: string;
  resource?: string;
}
