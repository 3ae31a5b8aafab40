import type { Client } from 'ssh2';
import { string } from './wire.ts';

/** What we use of ssh2's inside (1.17); a test signs in with a certificate and would fail with another version. */
interface Inside {
  _protocol: {
    _authsQueue: string[];
    _packetRW: {
      write: { allocStart: number; alloc(length: number): Buffer; finalize(packet: Buffer): Buffer };
    };
    _cipher: { encrypt(packet: Buffer): void };
  };
}

/**
 * Sends a signed request for publickey authentication. ssh2 does so by itself, but names the type of the key again in the
 * signature, which is wrong for certificates (signed by the plain key) and for security keys (which add fields).
 * @param request what was signed: the session's id, then the request without its signature
 */
export function sendSigned(client: Client, request: Buffer, signature: Buffer): void {
  const protocol = (client as unknown as Inside)._protocol;
  const body = Buffer.concat([request.subarray(4 + request.readUInt32BE(0)), string(signature)]);
  const { write } = protocol._packetRW;
  const packet = write.alloc(body.length);
  packet.set(body, write.allocStart);
  protocol._authsQueue.push('publickey');
  protocol._cipher.encrypt(write.finalize(packet));
}
