import { AsyncLocalStorage, createHook } from 'node:async_hooks';

/**
 * Runs `begin`, and reports what it, and everything that it starts, holds at the moment: `Timeout` for each timer, `TCPWRAP` for each
 * connection. What other code in this process holds does not count. A release becomes visible a moment later, so the caller has to poll.
 */
export function holdings<T>(begin: () => T): { begun: T; held(): string[] } & Disposable {
  const own = new AsyncLocalStorage<true>();
  const held = new Map<number, string>();
  const hook = createHook({
    init(id, type) {
      if (own.getStore() && (type === 'Timeout' || type === 'TCPWRAP')) held.set(id, type);
    },
    destroy: (id) => void held.delete(id),
  }).enable();
  return {
    begun: own.run(true, begin),
    held: () => [...held.values()],
    [Symbol.dispose]: () => void hook.disable(),
  };
}
