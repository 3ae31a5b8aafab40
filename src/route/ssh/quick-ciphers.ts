import { createSecretKey, randomFillSync } from 'node:crypto';
import type { Client, Connection } from 'ssh2';

/** Where the ciphers of ssh2 (1.17) that are written in JavaScript keep their keys; the native ones have none of these. */
const KEYS = [
  '_encKey',
  '_decipherKey',
  '_macKey',
  '_encKeyMain',
  '_encKeyPktLen',
  '_decKeyMain',
  '_decKeyPktLen',
];

/** Random bytes for paddings, many at once: to ask for ten takes longer than to encrypt a packet. */
const random = Buffer.alloc(4096);
let used = random.length;

/**
 * ssh2 gives node:crypto the bytes of its keys anew with every packet, and to make a key of them costs four times what it
 * costs to encrypt a packet of 1 KB; keys that are made once do the same. And it asks for the padding of every packet by
 * itself. To be called after every key exchange.
 */
export function quickenCiphers(client: Client | Connection): void {
  const { _protocol: protocol } = client as unknown as { _protocol?: Record<string, unknown> };
  for (const cipher of [protocol?._cipher, protocol?._decipher] as (Record<string, unknown> | undefined)[]) {
    for (const name of KEYS) {
      const key = cipher?.[name];
      if (cipher && Buffer.isBuffer(key)) cipher[name] = createSecretKey(key);
    }
    if (cipher && /^aes-\d+-gcm$/.test(String(cipher._encSSLName))) cipher.allocPacket = gcmPacket;
  }
}

/** Room for a packet: its length (4 bytes), the length of its padding (1), payload, padding; behind its length in blocks of 16 (RFC 5647). */
function gcmPacket(payload: number): Buffer {
  const padding = 4 + (-(1 + payload + 4) & 15);
  const packet = Buffer.allocUnsafe(4 + 1 + payload + padding);
  packet.writeUInt32BE(1 + payload + padding);
  packet[4] = padding;
  if (used + padding > random.length) {
    randomFillSync(random);
    used = 0;
  }
  random.copy(packet, 5 + payload, used, used + padding);
  used += padding;
  return packet;
}
