import { open } from 'node:fs/promises';

/** How much of a program to read for its build id. The go tool reads no more either. */
const HEAD_BYTES = 32 * 1024;
/** The build id is in an ELF note on Linux, and at the beginning of the text segment elsewhere. */
const BUILD_ID = /(?:[\w-]{20}\/){3}([\w-]{20})/;

/**
 * The last part of a Go program's build id: a hash of the program without the build id itself, since that changes with every comment.
 * Undefined for other programs.
 */
export async function goBuildId(binary: string): Promise<string | undefined> {
  const file = await open(binary).catch(() => undefined);
  if (!file) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return BUILD_ID.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
  } catch {
    // `binary` can be a directory with the name of a program on the PATH.
    return undefined;
  } finally {
    await file.close();
  }
}
