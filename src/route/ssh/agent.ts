/** The client's side of ssh-agent (draft-ietf-sshm-ssh-agent): also for keys and certificates that ssh2 does not know. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { string, uint32, WireReader } from './wire.ts';

const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
/** Hardly ever takes a person, and must leave time for the host: the keys in files may do without the agent. */
const LIST_LIMIT_MS = 5_000;
/** A sign request may wait for a person to touch a key. */
const SIGN_LIMIT_MS = 60_000;
const LARGEST = 256 * 1024;

export interface AgentKey {
  blob: Buffer;
  comment: string;
}

/** Rejects where the agent does not answer. */
export async function agentKeys(path: string, signal: AbortSignal): Promise<AgentKey[]> {
  const answer = await request(path, Buffer.of(REQUEST_IDENTITIES), LIST_LIMIT_MS, signal);
  if (answer[0] !== IDENTITIES_ANSWER) throw new Error('the SSH agent does not list its keys');
  const reader = new WireReader(answer.subarray(1));
  return Array.from({ length: reader.uint32() }, () => ({ blob: reader.string(), comment: reader.text() }));
}

/** A signature with its type in front. `flags`: 4 asks for rsa-sha2-512, 2 for rsa-sha2-256. */
export async function agentSign(
  path: string,
  blob: Buffer,
  data: Buffer,
  { flags, signal }: { flags: number; signal: AbortSignal },
): Promise<Buffer> {
  const message = [Buffer.of(SIGN_REQUEST), string(blob), string(data), uint32(flags)];
  const answer = await request(path, Buffer.concat(message), SIGN_LIMIT_MS, signal);
  if (answer[0] !== SIGN_RESPONSE) throw new Error('the SSH agent refuses to sign');
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
    throw late.aborted ? new Error(`no answer within ${limitMs / 1000} s`) : error;
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
    if (length === 0 || length > LARGEST) break;
    if (bytes.length >= length + 4) return bytes.subarray(4, length + 4);
  }
  throw new Error('the SSH agent ended the connection without an answer');
}
