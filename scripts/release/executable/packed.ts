import type { Compiled } from './start.ts';

const LENGTH_BYTES = 4;

/** One asset for a file of the program: the length of its source, the source, and what V8 compiled from it. */
export function pack(source: Buffer, cache: Buffer = Buffer.alloc(0)): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(source.length);
  return Buffer.concat([length, source, cache]);
}

/** The sources are ASCII, as esbuild writes them. */
export function unpack(asset: Buffer): Compiled {
  const end = LENGTH_BYTES + asset.readUInt32LE();
  const source = asset.toString('latin1', LENGTH_BYTES, end);
  return end === asset.length ? { source } : { source, cache: asset.subarray(end) };
}
