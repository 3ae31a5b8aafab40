import { setTimeout as sleep } from 'node:timers/promises';
import type { Get } from './api.ts';

export interface Milestone {
  name: string;
  reached: (get: Get) => Promise<boolean>;
}

interface Conditioned {
  status?: { conditions?: { type: string; status: string }[] };
}

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** What must be true before a test may use the cluster. */
export function milestones(parts: { certManager: boolean; pods: boolean }): Milestone[] {
  // No Pod can be created in a namespace before its service account exists.
  const found = [milestone('default service account', '/api/v1/namespaces/default/serviceaccounts/default')];
  if (parts.certManager) {
    // The last CRD that was applied may be established before the others, so each CRD that tests use is checked.
    for (const name of ['issuers', 'certificates', 'certificaterequests']) {
      found.push(milestone(`CRD ${name}`, `${crds}/${name}.cert-manager.io`, 'Established'));
    }
  }
  if (parts.pods) found.push(milestone('node', '/api/v1/nodes/node', 'Ready'));
  return found;
}

function milestone(name: string, path: string, condition?: string): Milestone {
  const reached = async (get: Get) => {
    const object = (await get(path)) as Conditioned | undefined;
    return object !== undefined && (condition === undefined || isTrue(object, condition));
  };
  return { name, reached };
}

function isTrue(object: Conditioned, type: string): boolean {
  return object.status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false;
}

/** Polls for one milestone after another, since they are reached in about this order. */
export async function awaitMilestones(list: Milestone[], get: Get, signal: AbortSignal): Promise<void> {
  for (const { name, reached } of list) {
    while (!(await reached(get))) {
      if (signal.aborted) throw new Error(`no ${name}: ${(signal.reason as Error).message}`);
      await sleep(50);
    }
  }
}
