import { createSecretKey } from 'node:crypto';
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

/**
 * ssh2 gives node:crypto the bytes of its keys anew with every packet, and to make a key of them costs four times what it
 * costs to encrypt a packet of 1 KB. Keys that are made once do the same. To be called after every key exchange.
 */
export function quickenCiphers(client: Client | Connection): void {
  const { _protocol: protocol } = client as unknown as { _protocol?: Record<string, unknown> };
  for (const cipher of [protocol?._cipher, protocol?._decipher] as (Record<string, unknown> | undefined)[]) {
    for (const name of KEYS) {
      const key = cipher?.[name];
      if (cipher && Buffer.isBuffer(key)) cipher[name] = createSecretKey(key);
    }
  }
}
