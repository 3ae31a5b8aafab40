import { createRequire } from 'node:module';
import type { Client } from 'ssh2';
import { expect, it } from 'vitest';
import { quickenCiphers } from '../../../src/route/ssh/quick-ciphers.ts';

const require = createRequire(import.meta.url);
const { CIPHER_INFO, createCipher } = require('ssh2/lib/protocol/crypto.js');

it.each(['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'])(
  'makes packets of %s as ssh2 does, with a padding of their own',
  (name) => {
    const [plain, quick] = [cipherOf(name), cipherOf(name)];
    quickenCiphers({ _protocol: { _cipher: quick } } as unknown as Client);
    const paddings = new Set<string>();
    for (let payload = 0; payload < 400; payload++) {
      const [expected, packet] = [plain.allocPacket(payload), quick.allocPacket(payload)];
      expect(packet.length).toBe(expected.length);
      expect(packet.subarray(0, 5)).toEqual(expected.subarray(0, 5));
      paddings.add(packet.toString('hex', packet.length - 4));
    }
    // Each ends in four random bytes.
    expect(paddings.size).toBeGreaterThan(390);
  },
);

function cipherOf(name: string): { allocPacket(payload: number): Buffer } {
  const { keyLen, ivLen } = CIPHER_INFO[name];
  const outbound = {
    cipherInfo: CIPHER_INFO[name],
    cipherKey: Buffer.alloc(keyLen),
    cipherIV: Buffer.alloc(ivLen),
    seqno: 0,
    onWrite() {},
  };
  return createCipher({ outbound });
}
