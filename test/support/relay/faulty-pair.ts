import { Duplex } from 'node:stream';

export interface Faults {
  /** The sizes of the pieces in which bytes arrive, over and over. */
  pieces: number[];
  /** The connection breaks after this many bytes in both directions together. */
  cutAfter: number;
}

/** Both ends of a connection in memory, which splits what is written into pieces and breaks as planned. */
export function faultyPair(faults: Faults): [Duplex, Duplex] {
  let carried = 0;
  let turn = 0;
  const ends: [Duplex, Duplex] = [end(1), end(0)];
  return ends;

  function end(other: 0 | 1): Duplex {
    return new Duplex({
      read() {},
      write(bytes: Buffer, _encoding, done) {
        void carry(bytes, other).then(() => done());
      },
      final(done) {
        ends[other].push(null);
        done();
      },
      destroy(error, done) {
        setImmediate(() => ends[other].destroy());
        done(error);
      },
    });
  }

  async function carry(bytes: Buffer, other: 0 | 1): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      const piece = rest.subarray(0, faults.pieces[turn++ % faults.pieces.length]);
      rest = rest.subarray(piece.length);
      const room = faults.cutAfter - carried;
      carried += piece.length;
      // The bytes are copied, so that bytes in transit do not change with the sender's buffer.
      if (!ends[other].destroyed) ends[other].push(Buffer.from(piece.subarray(0, Math.max(0, room))));
      if (carried >= faults.cutAfter) {
        await new Promise(setImmediate);
        ends[0].destroy();
        return;
      }
      if (turn % 16 === 0) await new Promise(setImmediate);
    }
  }
}
