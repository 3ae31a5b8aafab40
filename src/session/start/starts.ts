import { join } from 'node:path';
import type { Admission } from '../../api-proxy/admission.ts';
import type { ApiProxy } from '../../api-proxy/proxy.ts';
import type { Late } from '../../controller/runner.ts';
import { type ApiAccess, admitBy } from '../../local/api-access.ts';
import { openProxyFor } from './controller.ts';
import type { Session } from './session.ts';
import { WrittenLeases } from './written-leases.ts';

/** One start of the controller, for the API proxy. */
export interface AdmittedStart {
  /** Those that it holds, as far as the proxy has seen it write them. */
  leases: Pick<WrittenLeases, 'led'>;
  /** Its process has ended, so nothing that it may have left behind reaches the API server from now on. */
  end(): void;
}

/** The access of the controller to the API proxy. Each start has its own, because an earlier one may have left processes behind. */
export interface Starts {
  /** For the plan: `late` completes the paths. A process that the user starts keeps its access as long as the session. */
  access: ApiAccess;
  late: Late;
  /** The controller starts now, with the values that `late` has had so far. */
  begin(): AdmittedStart;
}

const NUMBER = '<number of the start>';

/** Absent without an API proxy. */
export async function openStarts(
  session: Parameters<typeof openProxyFor>[0] & { followers: AsyncDisposableStack },
): Promise<Starts | undefined> {
  const proxy = session.followers.use(await openProxyFor(session));
  return proxy && admitStarts(proxy, session);
}

export function admitStarts(
  proxy: ApiProxy,
  { context, target, files, options }: Pick<Session, 'context' | 'target' | 'files' | 'options'>,
): Starts {
  const { pinned } = context.api;
  const { namespace } = target;
  const { variables, reports } = proxy;
  const directoryOf = (number: number | string): string => join(files.directory, `start-${number}`);
  let number = 1;
  let next: { admission: Admission; leases: WrittenLeases } | undefined;
  // What waits to become the controller finds its files from the beginning.
  const admitted = (): NonNullable<typeof next> => {
    if (next) return next;
    const leases = new WrittenLeases();
    const served = leases.served.bind(leases);
    const admission = admitBy(directoryOf(number), proxy, { pinned, namespace, served });
    next = { admission, leases };
    return next;
  };
  const value = (): string => {
    admitted();
    return String(number);
  };
  const directory = directoryOf(options.controller ? NUMBER : value());
  return {
    access: { variables, reports, directory },
    late: { standsFor: NUMBER, value },
    begin() {
      const { admission, leases } = admitted();
      next = undefined;
      number += 1;
      return { leases, end: () => admission.end() };
    },
  };
}
