import type { CallOptions } from './transport.ts';

/** A call that can change something, and that the API server has not answered yet. */
export interface Write {
  method: string;
  path: string;
  body: unknown;
  isDryRun: boolean;
}

type Settings = CallOptions & { contentType?: string };
type Call = <T>(method: string, path: string, body?: unknown, options?: Settings) => Promise<T>;

/** Wraps `call`, so that `writes` contains each write from the moment when it is sent until it is answered. */
export function recordWrites(call: Call): { call: Call; writes: ReadonlySet<Write> } {
  const writes = new Set<Write>();
  return {
    writes,
    async call(method, path, body, options = {}) {
      if (method === 'GET') return await call(method, path, body, options);
      const write = { method, path, body, isDryRun: options.query?.dryRun !== undefined };
      writes.add(write);
      try {
        return await call(method, path, body, options);
      } finally {
        writes.delete(write);
      }
    },
  };
}
