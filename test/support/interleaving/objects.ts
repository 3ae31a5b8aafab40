/** The operator of these stories. */
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';

export const NAMESPACE = 'shop';
export const HOOK: ObjectRef = { kind: 'Service', namespace: NAMESPACE, name: 'hook' };
export const MANAGER: ObjectRef = { kind: 'Deployment', namespace: NAMESPACE, name: 'manager' };
