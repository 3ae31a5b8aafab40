import { allDone } from './async.ts';

/**
 * For steps of which none has a purpose without the others: the first failure ends them all by the controller's signal, and is
 * what this rejects with, not what another one says about being interrupted. All have come to rest by then.
 */
export async function allOrNone<T>(steps: Promise<T>[], ending: AbortController): Promise<T[]> {
  const endAll = (error: unknown): never => {
    ending.abort(error);
    throw ending.signal.reason;
  };
  return await allDone(steps.map((step) => step.catch(endAll)));
}
