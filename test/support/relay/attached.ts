import { randomBytes } from 'node:crypto';
import { type Access, connect } from '../../../src/route/relay/dial.ts';
import { Control } from '../../../src/route/relay/pod/control.ts';
import { TOKEN_BYTES } from '../../../src/route/relay/wire/frames.ts';
import { makeRelayKeys } from '../../../src/route/relay/wire/keys.ts';
import { PACE, ResumableStream } from '../../../src/route/relay/wire/resumable.ts';
import { type Faults, faultyPair } from './faulty-pair.ts';
import { identities } from './program.ts';

export const { client, program } = identities(makeRelayKeys());
export const NEVER = new AbortController().signal;
export const whole: Faults = { pieces: [1_000_000], cutAfter: Number.POSITIVE_INFINITY };

export function newStream(token: Buffer = randomBytes(TOKEN_BYTES)): ResumableStream {
  return new ResumableStream(token);
}

/** The end of the stream in the Pod. */
export function controlOf(begin: (stream: ResumableStream) => void, pace = PACE): Control {
  return new Control({ pace, identity: program, begin, onPresence() {} });
}

export function accessTo(control: Control, faults: Faults): Access {
  return {
    identity: client,
    async dial() {
      const [near, far] = faultyPair(faults);
      control.accept(far);
      return near;
    },
  };
}

/** Both ends of a stream, in this process: the client's and the program's. */
export async function attached(faults = whole): Promise<{ near: ResumableStream; far: ResumableStream }> {
  const near = newStream();
  const begun = Promise.withResolvers<ResumableStream>();
  await connect(near, accessTo(controlOf(begun.resolve), faults), true, NEVER);
  return { near, far: await begun.promise };
}
