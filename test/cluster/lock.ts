import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A lock among all processes of this machine. It is a name in the kernel (an abstract socket), so it ends together with its process,
 * however that ends, and no lock file can be left behind. `onWait` is called once if another process holds the lock. Only Linux has such names:
 * elsewhere, where only the demo gets here, two builds at a time take longer.
 */
export async function lock(name: string, timeoutMs: number, onWait?: () => void): Promise<AsyncDisposable> {
  if (process.platform !== 'linux') return new AsyncDisposableStack();
  const deadline = Date.now() + timeoutMs;
  for (let tries = 0; ; tries++) {
    const held = await tryLock(name);
    if (held) return held;
    if (tries === 0) onWait?.();
    if (Date.now() > deadline) throw new Error(`another process held "${name}" for ${timeoutMs / 1000} s`);
    await sleep(50);
  }
}

async function tryLock(name: string): Promise<AsyncDisposable | undefined> {
  const server = createServer();
  // A name of the kernel has at most 107 bytes, and paths in a home directory can be longer.
  const short = createHash('sha256').update(name).digest('hex').slice(0, 32);
  server.listen(`\0kube-devloop-test-cluster/${short}`);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
  server.unref();
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}
