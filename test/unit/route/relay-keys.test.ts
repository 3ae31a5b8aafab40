import { expect, it } from 'vitest';
import {
  type Hello,
  NONCE_BYTES,
  SIGNATURE_BYTES,
  TOKEN_BYTES,
} from '../../../src/route/relay/wire/frames.ts';
import { isSigned, makeRelayKeys, signatureFor } from '../../../src/route/relay/wire/keys.ts';
import { identities } from '../../support/relay/program.ts';

const ours = identities(makeRelayKeys());
const nonce = Buffer.alloc(NONCE_BYTES, 1);
const token = Buffer.alloc(TOKEN_BYTES, 2);
const unsigned = {
  type: 'hello',
  token,
  fresh: true,
  received: 7,
  nonce: Buffer.alloc(NONCE_BYTES, 3),
} as const;

it('lets one end verify the other', () => {
  const hello = { ...unsigned, signature: signatureFor(unsigned, nonce, ours.client) };
  expect(isSigned(hello, nonce, ours.program)).toBe(true);
  const answer = { type: 'welcome', resumed: true, received: 7 } as const;
  const welcome = { ...answer, signature: signatureFor(answer, unsigned.nonce, ours.program) };
  expect(isSigned(welcome, unsigned.nonce, ours.client)).toBe(true);
});

it('a signature is not valid with another key, for another nonce, for another frame, or from the other end', () => {
  const signature = signatureFor(unsigned, nonce, ours.client);
  const hello: Hello = { ...unsigned, signature };
  const others = identities(makeRelayKeys());
  const invalid: [Hello, Buffer, typeof ours.program][] = [
    [hello, nonce, others.program],
    [hello, Buffer.alloc(NONCE_BYTES, 9), ours.program],
    [{ ...hello, signature: Buffer.alloc(SIGNATURE_BYTES) }, nonce, ours.program],
    [{ ...hello, token: Buffer.alloc(TOKEN_BYTES, 9) }, nonce, ours.program],
    [{ ...hello, fresh: false }, nonce, ours.program],
    [{ ...hello, received: 8 }, nonce, ours.program],
    [{ ...hello, nonce }, nonce, ours.program],
    [hello, nonce, ours.client],
  ];
  expect(invalid.map(([one, to, who]) => isSigned(one, to, who))).toEqual(invalid.map(() => false));
});
