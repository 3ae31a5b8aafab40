import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { Hello, Welcome } from './frames.ts';
import { statement } from './frames.ts';

/** Two pairs made for one session: the relay program proves itself with the first, this machine with the second. */
export interface RelayKeys {
  program: KeyPair;
  client: KeyPair;
}

/** Ed25519; the private half is PKCS #8, the public one SPKI, both DER in base64. */
export interface KeyPair {
  private: string;
  public: string;
}

export function makeRelayKeys(): RelayKeys {
  return { program: makePair(), client: makePair() };
}

function makePair(): KeyPair {
  const pair = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  });
  return { private: pair.privateKey.toString('base64'), public: pair.publicKey.toString('base64') };
}

/** How one end proves itself, and knows the other. */
export interface Identity {
  own: KeyObject;
  other: KeyObject;
}

/** Throws where the texts are no keys. */
export function identity(ownPrivate: string, otherPublic: string): Identity {
  return {
    own: createPrivateKey({ key: Buffer.from(ownPrivate, 'base64'), type: 'pkcs8', format: 'der' }),
    other: createPublicKey({ key: Buffer.from(otherPublic, 'base64'), type: 'spki', format: 'der' }),
  };
}

type Unsigned = Omit<Hello, 'signature'> | Omit<Welcome, 'signature'>;

/** Signs what is said in answer to the other end's nonce, so that it is worth nothing to anybody else, nor a second time. */
export function signatureFor(said: Unsigned, nonce: Buffer, { own }: Identity): Buffer {
  return sign(null, signed(said, nonce), own);
}

export function isSigned(said: Hello | Welcome, nonce: Buffer, { other }: Identity): boolean {
  return verify(null, signed(said, nonce), other, said.signature);
}

/** Which of the two ends speaks is said too, so that no end can be made to sign the other one's words. */
function signed(said: Unsigned, nonce: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`devloop relay ${said.type}\0`), nonce, statement(said)]);
}
