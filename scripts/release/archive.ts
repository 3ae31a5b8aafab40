import { gzipSync } from 'node:zlib';

export interface Entry {
  name: string;
  /** Such as 0o755. */
  mode: number;
  content: Buffer;
}

const BLOCK = 512;

/** A tar.gz that is the same, byte for byte, wherever and whenever it is made: it contains no times, users or names of the machine. */
export function tarGz(entries: Entry[]): Buffer {
  const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const blocks = sorted.flatMap((entry) => [header(entry), entry.content, padding(entry.content.length)]);
  const zipped = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
  // zlib writes the operating system here: 255 is "unknown".
  zipped[9] = 255;
  return zipped;
}

/** The header of a plain file, in the format that POSIX calls ustar. */
function header({ name, mode, content }: Entry): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`the name is too long for a tar file: ${name}`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  };
  block.write(name, 0);
  octal(mode, 100, 8);
  for (const at of [108, 116]) octal(0, at, 8);
  octal(content.length, 124, 12);
  octal(0, 136, 12);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  // The sum is made while its own place has spaces.
  block.fill(' ', 148, 156);
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return block;
}

function padding(length: number): Buffer {
  return Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
}
