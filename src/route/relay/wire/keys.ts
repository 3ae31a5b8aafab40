import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { type Hello, statement, type Welcome } from './frames.ts';

/** The key pairs of one session: the relay program proves its identity with one, this machine with the other. */
export interface RelayKeys {
  program: KeyPair;
  client: KeyPair;
}

/** An Ed25519 key pair. The private key is PKCS #8, the public key SPKI; both are DER in base64. */
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

/** The key by which one end proves its identity, and the key by which it recognizes the other end. */
export interface Identity {
  own: KeyObject;
  other: KeyObject;
}

/** Reads both keys. Throws if one of the texts is not a key. */
export function identity(ownPrivate: string, otherPublic: string): Identity {
  return {
    own: createPrivateKey({ key: Buffer.from(ownPrivate, 'base64'), type: 'pkcs8', format: 'der' }),
    other: createPublicKey({ key: Buffer.from(otherPublic, 'base64'), type: 'spki', format: 'der' }),
  };
}

type Unsigned = Omit<Hello, 'signature'> | Omit<Welcome, 'signature'>;

/** Signs the frame together with the other end's nonce, so that nobody can use the signature again. */
export function signatureFor(frame: Unsigned, nonce: Buffer, { own }: Identity): Buffer {
  return sign(null, signed(frame, nonce), own);
}

export function isSigned(frame: Hello | Welcome, nonce: Buffer, { other }: Identity): boolean {
  return verify(null, signed(frame, nonce), other, frame.signature);
}

/** The type of the frame is signed too, so that neither end can be made to sign a frame of the other end. */
function signed(frame: Unsigned, nonce: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`devloop relay ${frame.type}\0`), nonce, statement(frame)]);
}
