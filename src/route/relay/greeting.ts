import { randomBytes } from 'node:crypto';
import { type Frame, NONCE_BYTES } from './frames.ts';
import { type Identity, isSigned, signatureFor } from './keys.ts';
import type { Link } from './link.ts';
import type { ResumableStream } from './resumable.ts';

/** The program at the other end has never heard of the stream: it is another one than before. */
export class AnotherProgram extends Error {}

/** Our part of the handshake: both ends prove who they are, and say how far they got. */
export class Greeting {
  #stream: ResumableStream;
  #identity: Identity;
  #fresh: boolean;
  #nonce = randomBytes(NONCE_BYTES);
  #greeted = false;

  constructor(stream: ResumableStream, identity: Identity, fresh: boolean) {
    this.#stream = stream;
    this.#identity = identity;
    this.#fresh = fresh;
  }

  /** Says why the link is gone, later, once the stream goes on over it. Throws where it cannot. */
  hear(frame: Frame, link: Link): Promise<string> | undefined {
    if (frame.type === 'challenge' && !this.#greeted) {
      this.#greeted = true;
      link.send(this.#hello(frame.nonce));
      return undefined;
    }
    if (frame.type !== 'welcome' || !this.#greeted) throw new Error(`the answer was ${frame.type}`);
    if (!isSigned(frame, this.#nonce, this.#identity)) {
      throw new Error('the program at the other end does not have the key that was made for it');
    }
    if (!frame.resumed && !this.#fresh) throw new AnotherProgram('another program answers');
    if (!this.#stream.canResume(frame.received)) throw new Error('the other end is somewhere else');
    return this.#stream.attach(link, frame.received);
  }

  #hello(nonce: Buffer): Frame {
    const { token, received } = this.#stream;
    const said = { type: 'hello', token, fresh: this.#fresh, received, nonce: this.#nonce } as const;
    return { ...said, signature: signatureFor(said, nonce, this.#identity) };
  }
}
