import type { AuthHandlerMiddleware, BaseAgent, Client, ParsedKey } from 'ssh2';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { FoundIdentities } from './identities.ts';
import { fingerprint } from './known-hosts.ts';
import { type HostSettings, nameOf } from './settings.ts';
import { asParsedKey, sendSigned } from './ssh2-workaround.ts';
import { WireReader } from './wire.ts';

type Ssh2 = typeof import('ssh2');

/** Offers the user's identities to a host. */
export interface Authentication {
  agent: BaseAgent;
  handler: AuthHandlerMiddleware;
  /** Why the host accepted no identity. */
  refusal(): DevloopError;
}

/**
 * Gives ssh2 one agent with all identities, wherever they come from, because ssh2 offers an agent's keys by their public part, and requests
 * a signature only if the host would accept the key.
 */
export function createAuthentication(
  ssh2: Ssh2,
  client: Client,
  host: HostSettings,
  found: FoundIdentities,
): Authentication {
  const problems = [...found.problems];
  let accepted: string[] = [];
  let offered = false;
  const identities = found.identities.map((identity) => ({
    identity,
    key: asParsedKey(ssh2, identity.blob),
  }));
  const keys = identities.map(({ key }) => key);
  class AllIdentities extends ssh2.BaseAgent<ParsedKey> {
    getIdentities(callback: (error: undefined, keys: ParsedKey[]) => void): void {
      callback(undefined, keys);
    }

    override sign(key: ParsedKey, data: Buffer, options: unknown, callback?: unknown): void {
      const { identity } = identities.find((one) => one.key === key)!;
      const hash = (options as { hash?: string }).hash ?? 'sha512';
      const done = callback as SignCallback;
      const signing = identity.sign(data, hash).then(readSignature);
      signing.then(
        (signature) => {
          if (isPlain(signature, key.type)) done(undefined, signature.bytes);
          else sendSigned(client, data, signature.whole);
        },
        (error: unknown) => {
          problems.push(messageOf(error));
          done(error instanceof Error ? error : new Error(String(error)));
        },
      );
    }
  }
  const agent = new AllIdentities();
  return {
    agent,
    handler(methods, _partial, next) {
      // `none` comes first: its answer lists the methods that the host accepts. Passing `false` gives up, although the types do not allow
      // it.
      if (methods === null) return next({ type: 'none', username: host.user });
      accepted = methods;
      if (offered || identities.length === 0) return next(false as never);
      offered = true;
      next({ type: 'agent', username: host.user, agent });
    },
    refusal: () => refusalOf(host, { ...found, problems }, accepted),
  };
}

type SignCallback = (error?: Error, signature?: Buffer) => void;

interface Signature {
  whole: Buffer;
  type: string;
  bytes: Buffer;
  /** The additional fields in signatures of security keys. */
  rest: Buffer;
}

/** Throws RangeError for anything that is not a signature: an agent may send anything. */
function readSignature(whole: Buffer): Signature {
  const reader = new WireReader(whole);
  return { whole, type: reader.text(), bytes: reader.string(), rest: reader.rest };
}

/** Whether ssh2 correctly encodes a signature of this form by a key of that type. */
function isPlain({ type, rest }: Signature, keyType: string): boolean {
  return rest.length === 0 && (type === keyType || keyType === 'ssh-rsa');
}

function refusalOf(
  host: HostSettings,
  { identities, problems }: FoundIdentities,
  accepted: string[],
): DevloopError {
  const keys = identities.map(({ source, blob }) => `${source} (${fingerprint(blob)})`).join(', ');
  const what = keys
    ? `SSH host ${nameOf(host)} accepts none of these keys: ${keys}`
    : `No SSH key was found to log in to ${nameOf(host)}`;
  const why = problems.length > 0 ? `; ${problems.join('; ')}` : '';
  const methods = accepted.length > 0 ? ` The host accepts: ${accepted.join(', ')}.` : '';
  const port = host.port === 22 ? '' : `-p ${host.port} `;
  return new DevloopError('ssh.auth', `${what}${why}.${methods}`, {
    hint:
      accepted.length === 0 || accepted.includes('publickey')
        ? `Check with: ssh ${port}${shellWord(host.user)}@${shellWord(host.alias)} true. ssh-keygen makes a key, ssh-copy-id installs it on the host, and ssh-add unlocks it.`
        : 'devloop logs in with keys only: allow PubkeyAuthentication on the host.',
  });
}
