import type { Duplex } from 'node:stream';
import type { Client, HostVerifier } from 'ssh2';
import { DevloopError } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import { createAuthentication } from './authentication.ts';
import { formatDestination } from './destination.ts';
import { type Ask, type HostKeys, loadHostKeys } from './host-key.ts';
import { gatherIdentities, type Identity, type Keyring } from './identities.ts';
import { Patience } from './patience.ts';
import { quickenCiphers } from './quick-ciphers.ts';
import type { HostSettings } from './settings.ts';

/** sshd may look up our name and ask PAM before it answers. */
const LIMIT_MS = 12_000;
/** Our own watch ends a dead connection: ssh2 counts only answers to its own questions, not the data that arrives. */
const NEVER = 1e9;

export interface Signing {
  ask: Ask | undefined;
  unlocked: Keyring['unlocked'];
  /** Host keys that were agreed to: nobody is asked again after a drop. */
  accepted: Set<string>;
  env: Record<string, string | undefined>;
  emit: Emit;
  signal: AbortSignal;
}

/** Makes an SSH connection of a stream: the host proves who it is, then we do. The stream ends with a failure. */
export async function shakeHands(stream: Duplex, host: HostSettings, signing: Signing): Promise<Client> {
  try {
    return await attempt(stream, host, signing);
  } catch (error) {
    stream.destroy();
    signing.signal.throwIfAborted();
    throw error;
  }
}

async function attempt(
  stream: Duplex,
  host: HostSettings,
  { ask, unlocked, accepted, env, emit, signal }: Signing,
): Promise<Client> {
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  const fail = (error: Error): void => ended.reject(error);
  // Before anything is awaited: a host that breaks the connection at once is not one that keeps silent.
  stream.on('error', (error) => fail(unusable(host, error)));
  stream.once('close', () => fail(unusable(host, new Error('the connection was ended'))));
  using patience = new Patience(LIMIT_MS, () => fail(silent(host)));
  const patientAsk: Ask | undefined = ask && ((...question) => patience.pauseFor(() => ask(...question)));
  const onAbort = (): void => fail(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const ssh2 = (await import('ssh2')).default;
    const client = new ssh2.Client();
    const hostKeys = await loadHostKeys(host, { ask: patientAsk, accepted, env, emit });
    const { identities, problems } = await gatherIdentities(host, { ask: patientAsk, unlocked, signal });
    // An agent may wait for a person who has to agree, or to touch a key.
    const patient = identities.map(
      (one): Identity => ({ ...one, sign: (...what) => patience.pauseFor(() => one.sign(...what)) }),
    );
    const authentication = createAuthentication(ssh2, client, host, { identities: patient, problems });
    client.on('error', (error: Error & { level?: string; code?: unknown }) => {
      // A key that cannot sign is passed over.
      if (error.level === 'agent') return;
      const tooMany = error.level === 'client-authentication' || /too many auth/i.test(error.message);
      fail(tooMany ? authentication.refusal() : unusable(host, error));
    });
    client.on('handshake', () => quickenCiphers(client));
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
    await Promise.race([ready, ended.promise]);
    return client;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * ssh2 asks again whenever keys are exchanged anew. Then the same key has to be answered at once: with data under way, an
 * answer that comes later makes ssh2 (1.17) encrypt with the wrong keys.
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

function silent(host: HostSettings): DevloopError {
  return new DevloopError(
    'ssh.unreachable',
    `SSH host ${nameOf(host)} does not finish the handshake within ${LIMIT_MS / 1000} s.`,
    {
      hint: `Check with: ssh -v ${host.alias} true`,
    },
  );
}

function unusable(host: HostSettings, error: Error): DevloopError {
  const overCommand = host.proxyCommand !== undefined;
  const happened = overCommand
    ? 'cannot be reached over its ProxyCommand'
    : 'answers, but no SSH connection came about';
  const check = `Check with: ssh -v ${host.alias} true`;
  return new DevloopError('ssh.unreachable', `SSH host ${nameOf(host)} ${happened}: ${error.message}.`, {
    hint: overCommand ? check : `Is port ${host.port} that of sshd? ${check}`,
    cause: error,
  });
}

function nameOf({ user, host, port }: HostSettings): string {
  return formatDestination(user, host, port);
}
