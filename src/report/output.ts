import { fstatSync, statSync, writeSync } from 'node:fs';
import type { Terminal } from './waiting.ts';

/** Where the program prints to. */
export interface Output extends Terminal {
  /** Resolves when all output is written, or lost. */
  flushed(): Promise<void>;
}

type OnError = (error: NodeJS.ErrnoException) => void;

/**
 * Writes to a file, a pipe or /dev/null synchronously, as Node's stream would. Loading and creating that stream takes as long as the rest
 * of a short command, so it is created only for a terminal, and for a full pipe that does not block. `onError` gets the reason if output is
 * lost.
 */
export function createOutput(fd: number, stream: () => NodeJS.WriteStream, onError: OnError): Output {
  const make = (): NodeJS.WriteStream => stream().on('error', onError);
  let made = isPlain(fd) ? undefined : make();
  let lost: Promise<void> | undefined;
  const writeNow = (text: string): void => {
    let rest = Buffer.from(text);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
        made = make();
        made.write(rest);
        return;
      }
      lost = later(() => onError(error as NodeJS.ErrnoException));
    }
  };
  return {
    write(text) {
      if (made) made.write(text);
      else if (!lost) writeNow(text);
    },
    get isTTY() {
      return made?.isTTY;
    },
    get columns() {
      return made?.columns;
    },
    on: (event, listener) => made?.on(event, listener),
    async flushed() {
      const stream = made;
      await (stream ? new Promise<void>((resolve) => stream.write('', () => resolve())) : lost);
    },
  };
}

/** Reports the error later, as a stream does, so that nothing ends while something is being printed. */
function later(report: () => void): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => {
      report();
      resolve();
    });
  });
}

/** Whether this is certainly not a terminal. Node's own check would have to be loaded first. */
function isPlain(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    const isNothing = (): boolean => stats.isCharacterDevice() && stats.rdev === statSync('/dev/null').rdev;
    return stats.isFile() || stats.isFIFO() || isNothing();
  } catch {
    return false;
  }
}
