import type { AuthHandlerMiddleware, BaseAgent, Client, ParsedKey } from 'ssh2';
import { DevloopError, messageOf } from '../../errors.ts';
import { requestType } from './certificate.ts';
import { formatDestination } from './destination.ts';
import type { Found, Identity } from './identities.ts';
import { fingerprint } from './known-hosts.ts';
import { sendSigned } from './send-signed.ts';
import type { HostSettings } from './settings.ts';
import { string, typeOf, WireReader } from './wire.ts';

type Ssh2 = typeof import('ssh2');

/** Offers our identities to a host, and knows afterwards why none was accepted. */
export interface Authentication {
  agent: BaseAgent;
  handler: AuthHandlerMiddleware;
  refusal(): DevloopError;
}

/** Any key, so that ssh2 takes ours for one of its own: it goes by type and public part alone. */
const TEMPLATE = `ssh-ed25519 ${Buffer.concat([string('ssh-ed25519'), string(Buffer.alloc(32))]).toString('base64')}`;

/**
 * ssh2 sees one agent with all identities, wherever they come from: an agent's keys are offered by their public part, and
 * asked to sign only when the host would take them.
 */
export function createAuthentication(
  ssh2: Ssh2,
  client: Client,
  host: HostSettings,
  found: Found,
): Authentication {
  const problems = [...found.problems];
  let accepted: string[] = [];
  let offered = false;
  const identities = found.identities.map((identity) => ({ identity, key: disguise(ssh2, identity) }));
  class Identities extends ssh2.BaseAgent<ParsedKey> {
    getIdentities(callback: (error: undefined, keys: ParsedKey[]) => void): void {
      callback(
        undefined,
        identities.map(({ key }) => key),
      );
    }

    override sign(key: ParsedKey, data: Buffer, options: unknown, callback?: unknown): void {
      const { identity } = identities.find((one) => one.key === key)!;
      const hash = (options as { hash?: string }).hash ?? 'sha512';
      const signing = identity.sign(data, hash).then(readSignature);
      signing.then(
        (signature) => answer(client, key.type, data, signature, callback as SignCallback),
        (error: unknown) => {
          problems.push(messageOf(error));
          (callback as SignCallback)(error instanceof Error ? error : new Error(String(error)));
        },
      );
    }
  }
  const agent = new Identities();
  return {
    agent,
    handler(methods, _partial, next) {
      // The types do not know that `false` ends it. `none` comes first: its refusal tells what the host takes.
      if (methods === null) return next({ type: 'none', username: host.user });
      accepted = methods;
      if (offered || identities.length === 0) return next(false as never);
      offered = true;
      next({ type: 'agent', username: host.user, agent });
    },
    refusal: () => refusalOf(host, found.identities, problems, accepted),
  };
}

type SignCallback = (error?: Error, signature?: Buffer) => void;

interface Signature {
  whole: Buffer;
  type: string;
  bytes: Buffer;
  /** What follows on it, as with security keys. */
  rest: Buffer;
}

/** Throws RangeError where it is none: it may come from an agent. */
function readSignature(whole: Buffer): Signature {
  const reader = new WireReader(whole);
  return { whole, type: reader.text(), bytes: reader.string(), rest: reader.rest };
}

function answer(
  client: Client,
  type: string,
  request: Buffer,
  signature: Signature,
  callback: SignCallback,
): void {
  const plain = signature.rest.length === 0 && (signature.type === type || type === 'ssh-rsa');
  if (plain) callback(undefined, signature.bytes);
  else sendSigned(client, request, signature.whole);
}

function disguise(ssh2: Ssh2, { blob }: Identity): ParsedKey {
  const template = ssh2.utils.parseKey(TEMPLATE) as ParsedKey;
  const type = requestType(typeOf(blob));
  return Object.assign(Object.create(template) as ParsedKey, { type, getPublicSSH: () => blob });
}

function refusalOf(
  host: HostSettings,
  tried: Identity[],
  problems: string[],
  accepted: string[],
): DevloopError {
  const name = formatDestination(host.user, host.host, host.port);
  const keys = tried.map(({ source, blob }) => `${source} (${fingerprint(blob)})`).join(', ');
  const offers = keys ? `accepts none of these keys: ${keys}` : 'was offered no key, for none was found';
  const why = problems.length > 0 ? `; ${problems.join('; ')}` : '';
  const takes = accepted.length > 0 ? ` The host takes: ${accepted.join(', ')}.` : '';
  const publicKeys = accepted.length === 0 || accepted.includes('publickey');
  return new DevloopError('ssh.auth', `SSH host ${name} ${offers}${why}.${takes}`, {
    hint: publicKeys
      ? `Check with: ssh ${host.port === 22 ? '' : `-p ${host.port} `}${host.user}@${host.alias} true. A key is made with ssh-keygen, put there with ssh-copy-id, and opened for good with ssh-add.`
      : 'devloop signs in with keys only: allow PubkeyAuthentication on the host.',
  });
}
