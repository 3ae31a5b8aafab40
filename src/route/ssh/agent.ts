/** A client of ssh-agent (draft-ietf-sshm-ssh-agent). The client in ssh2 drops keys and certificates whose type ssh2 does not know. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { string, uint32, WireReader } from './wire.ts';

const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
/** A short limit, to leave time for the host: listing keys rarely needs a person, and the keys in files may be enough. */
const LIST_LIMIT_MS = 5_000;
/** A long limit, because a person may have to touch a key. */
const SIGN_LIMIT_MS = 60_000;
const LARGEST_ANSWER = 256 * 1024;

export interface AgentKey {
  blob: Buffer;
  comment: string;
}

/** The agent's keys. Rejects if the agent does not respond. */
export async function agentKeys(path: string, signal: AbortSignal): Promise<AgentKey[]> {
  const answer = await request(path, Buffer.of(REQUEST_IDENTITIES), LIST_LIMIT_MS, signal);
  if (answer[0] !== IDENTITIES_ANSWER) throw new Error('it does not list its keys');
  const reader = new WireReader(answer.subarray(1));
  return Array.from({ length: reader.uint32() }, () => ({ blob: reader.string(), comment: reader.text() }));
}

/** Resolves with a signature, preceded by its type. `flags`: 4 for rsa-sha2-512, 2 for rsa-sha2-256. */
export async function agentSign(
  path: string,
  blob: Buffer,
  data: Buffer,
  { flags, signal }: { flags: number; signal: AbortSignal },
): Promise<Buffer> {
  const message = [Buffer.of(SIGN_REQUEST), string(blob), string(data), uint32(flags)];
  const answer = await request(path, Buffer.concat(message), SIGN_LIMIT_MS, signal);
  if (answer[0] !== SIGN_RESPONSE) throw new Error('the SSH agent refused to sign');
  return new WireReader(answer.subarray(1)).string();
}

async function request(path: string, message: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer> {
  const late = AbortSignal.timeout(limitMs);
  const limit = AbortSignal.any([signal, late]);
  const socket = connect(path);
  const abort = (): void => void socket.destroy(limit.reason as Error);
  limit.addEventListener('abort', abort, { once: true });
  try {
    await once(socket, 'connect');
    socket.write(string(message));
    return await answerOf(socket);
  } catch (error) {
    throw late.aborted ? new Error(`no response within ${limitMs / 1000} s`) : error;
  } finally {
    limit.removeEventListener('abort', abort);
    socket.destroy();
  }
}

async function answerOf(socket: Socket): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    if (bytes.length < 4) continue;
    const length = bytes.readUInt32BE();
    if (length === 0 || length > LARGEST_ANSWER) break;
    if (bytes.length >= length + 4) return bytes.subarray(4, length + 4);
  }
  throw new Error('the SSH agent closed the connection without a response');
}
