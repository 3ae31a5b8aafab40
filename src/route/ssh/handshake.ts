import type { Duplex } from 'node:stream';
import type { Client, HostVerifier } from 'ssh2';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { createAuthentication } from './authentication.ts';
import { type Ask, type HostKeys, loadHostKeys } from './host-key.ts';
import { findIdentities, type Identity, type Keyring } from './identities.ts';
import { type HostSettings, nameOf } from './settings.ts';

/** sshd may look up this machine's name and call PAM before it answers. */
const LIMIT_MS = 12_000;
/**
 * Keeps ssh2 from ending the connection. `watchAlive` ends a dead one instead: ssh2 would count only answers to its keepalives, not other
 * data that arrives.
 */
const NEVER = 1e9;

/** What stays the same for all hops and all connections of a route. */
export interface HandshakeContext {
  /** Asks the user a question; undefined without a terminal. */
  ask: Ask | undefined;
  unlocked: Keyring['unlocked'];
  /** Host keys that the user accepted, so that reconnecting does not ask again. */
  accepted: Set<string>;
  env: Record<string, string | undefined>;
  emit: Emit;
  signal: AbortSignal;
}

/** Turns a stream into an SSH connection: the host proves its identity, then the user. A failure destroys the stream. */
export async function handshake(
  stream: Duplex,
  host: HostSettings,
  context: HandshakeContext,
): Promise<Client> {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const fail = (error: Error): void => failed.reject(error);
  // These listeners come before any await, so that a host that closes the connection at once is not reported as silent.
  stream.on('error', (error) => fail(unusable(host, error)));
  stream.once('close', () => fail(unusable(host, new Error('the connection was closed'))));
  using deadline = new PausableDeadline(LIMIT_MS, () => fail(tooSlow(host)));
  const onAbort = (): void => fail(context.signal.reason as Error);
  context.signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await connect(stream, host, { ...context, deadline, fail, failed: failed.promise });
  } catch (error) {
    stream.destroy();
    context.signal.throwIfAborted();
    throw error;
  } finally {
    context.signal.removeEventListener('abort', onAbort);
  }
}

interface Attempt extends HandshakeContext {
  deadline: PausableDeadline;
  fail(error: Error): void;
  failed: Promise<never>;
}

async function connect(stream: Duplex, host: HostSettings, attempt: Attempt): Promise<Client> {
  const { ask, unlocked, accepted, env, emit, signal, deadline, fail, failed } = attempt;
  const ssh2 = (await import('ssh2')).default;
  const client = new ssh2.Client();
  const patientAsk: Ask | undefined = ask && ((...question) => deadline.pauseFor(() => ask(...question)));
  const hostKeys = await loadHostKeys(host, { ask: patientAsk, accepted, env, emit });
  const { identities, problems } = await findIdentities(host, { ask: patientAsk, unlocked, signal });
  // An agent may wait for a person who has to confirm, or to touch a key.
  const patient = identities.map(
    (one): Identity => ({ ...one, sign: (...what) => deadline.pauseFor(() => one.sign(...what)) }),
  );
  const authentication = createAuthentication(ssh2, client, host, { identities: patient, problems });
  client.on('error', (error: Error & { level?: string }) => {
    // One key could not sign; ssh2 tries the next one.
    if (error.level === 'agent') return;
    const refused = error.level === 'client-authentication' || /too many auth/i.test(error.message);
    fail(refused ? authentication.refusal() : unusable(host, error));
  });
  const ready = new Promise<void>((resolve) => client.once('ready', resolve));
  client.connect({
    sock: stream,
    username: host.user,
    readyTimeout: 0,
    keepaliveInterval: host.aliveSeconds * 1000,
    keepaliveCountMax: NEVER,
    algorithms: { serverHostKey: hostKeys.algorithms as never },
    hostVerifier: hostVerifier(hostKeys, fail),
    agent: authentication.agent,
    authHandler: authentication.handler,
  });
  await Promise.race([ready, failed]);
  return client;
}

/**
 * The function with which ssh2 verifies the host key. ssh2 also calls it whenever new session keys are exchanged. It then has to accept the
 * same host key synchronously: if it answers later, while data is being sent, ssh2 (1.17) encrypts with the wrong session keys.
 */
function hostVerifier({ verify }: HostKeys, fail: (error: Error) => void): HostVerifier {
  let trusted: Buffer | undefined;
  return (shown, answer) => {
    if (trusted?.equals(shown)) return answer(true);
    const key = Buffer.from(shown);
    verify(key).then(
      () => {
        trusted = key;
        answer(true);
      },
      (error: Error) => {
        fail(error);
        answer(false);
      },
    );
  };
}

function tooSlow(host: HostSettings): DevloopError {
  return new DevloopError(
    'ssh.unreachable',
    `SSH host ${nameOf(host)} did not complete the handshake within ${LIMIT_MS / 1000} s.`,
    { hint: `Check with: ssh -v ${shellWord(host.alias)} true` },
  );
}

function unusable(host: HostSettings, error: Error): DevloopError {
  const overCommand = host.proxyCommand !== undefined;
  const happened = overCommand
    ? 'could not be reached over its ProxyCommand'
    : 'responded, but the SSH handshake failed';
  const check = `Check with: ssh -v ${shellWord(host.alias)} true`;
  return new DevloopError('ssh.unreachable', `SSH host ${nameOf(host)} ${happened}: ${error.message}.`, {
    hint: overCommand ? check : `Is ${host.port} the port of sshd? ${check}`,
    cause: error,
  });
}

/** A deadline that does not count the time while a person is being asked. */
export class PausableDeadline implements Disposable {
  readonly #expire: () => void;
  #leftMs: number;
  #since = 0;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: () => void) {
    this.#leftMs = limitMs;
    this.#expire = expire;
    this.#run();
  }

  /** Pauses may overlap: the clock runs again after the last one. */
  async pauseFor<T>(asking: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) {
      clearTimeout(this.#timer);
      this.#leftMs -= performance.now() - this.#since;
    }
    try {
      return await asking();
    } finally {
      if (--this.#pauses === 0) this.#run();
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    // If a question is still open, its end must not start the clock again.
    this.#pauses++;
  }

  #run(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#leftMs));
  }
}
