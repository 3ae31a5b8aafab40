import type { Channel } from 'ssh2';

/** What we know of the inside of ssh2 (1.17). */
interface Inside {
  incoming?: { window: number };
  outgoing?: { id: number; state: string };
  _client?: { _protocol?: { channelWindowAdjust(id: number, bytes: number): void } };
}

/** As in ssh2: how many bytes may be under way or wait here. */
const WINDOW = 2 * 1024 * 1024;
const STEP = WINDOW / 8;

/**
 * ssh2 lets the host go on sending only when half of the window is used up, so that over a link with round-trip time the
 * host stands still for half of it. This tells the host sooner what has been handed on, and never more than that.
 */
export function giveCreditEarly(channel: Channel): void {
  const { incoming, outgoing, _client } = channel as unknown as Inside;
  if (!incoming || !outgoing) return;
  channel.on('data', () => {
    const credit = WINDOW - incoming.window - channel.readableLength;
    const protocol = _client?._protocol;
    if (credit < STEP || outgoing.state === 'closed' || !protocol) return;
    incoming.window += credit;
    protocol.channelWindowAdjust(outgoing.id, credit);
  });
}
