import { expect, it } from 'vitest';
import { type Hello, NONCE_BYTES, SIGNATURE_BYTES, TOKEN_BYTES } from '../../../src/route/relay/frames.ts';
import { isSigned, makeRelayKeys, signatureFor } from '../../../src/route/relay/keys.ts';
import { identities } from '../../support/relay/program.ts';

const ours = identities(makeRelayKeys());
const nonce = Buffer.alloc(NONCE_BYTES, 1);
const token = Buffer.alloc(TOKEN_BYTES, 2);
const said = { type: 'hello', token, fresh: true, received: 7, nonce: Buffer.alloc(NONCE_BYTES, 3) } as const;

it('proves one end to the other', () => {
  const hello = { ...said, signature: signatureFor(said, nonce, ours.client) };
  expect(isSigned(hello, nonce, ours.program)).toBe(true);
  const words = { type: 'welcome', resumed: true, received: 7 } as const;
  const welcome = { ...words, signature: signatureFor(words, said.nonce, ours.program) };
  expect(isSigned(welcome, said.nonce, ours.client)).toBe(true);
});

it('is worth nothing with another key, in answer to another nonce, for other words, or at the other end', () => {
  const signature = signatureFor(said, nonce, ours.client);
  const hello: Hello = { ...said, signature };
  const others = identities(makeRelayKeys());
  const worthless: [Hello, Buffer, typeof ours.program][] = [
    [hello, nonce, others.program],
    [hello, Buffer.alloc(NONCE_BYTES, 9), ours.program],
    [{ ...hello, signature: Buffer.alloc(SIGNATURE_BYTES) }, nonce, ours.program],
    [{ ...hello, token: Buffer.alloc(TOKEN_BYTES, 9) }, nonce, ours.program],
    [{ ...hello, fresh: false }, nonce, ours.program],
    [{ ...hello, received: 8 }, nonce, ours.program],
    [{ ...hello, nonce }, nonce, ours.program],
    [hello, nonce, ours.client],
  ];
  expect(worthless.map(([one, to, who]) => isSigned(one, to, who))).toEqual(worthless.map(() => false));
});
