import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { isGenerated, structureOf } from './filter.ts';

export interface ContentChange {
  /** The last modification, in the clock of `Date.now()`; 0 when the file is gone. */
  modifiedMs: number;
  generated: boolean;
  /** Other files may belong to the program now. */
  structural: boolean;
}

export interface ContentMemory {
  has(file: string): boolean;
  /** Reads the file; undefined when it holds what it held when it was read before. */
  changeOf(file: string): Promise<ContentChange | undefined>;
}

/** Remembers what files held, so that a save without a change, or `make generate` with the same result, is no change. */
export function createContentMemory(): ContentMemory {
  const remembered = new Map<string, { hash: string; structure: string }>();

  async function changeOf(file: string): Promise<ContentChange | undefined> {
    const before = remembered.get(file);
    const now = await read(file);
    if (!now) {
      const known = remembered.delete(file);
      return known ? { modifiedMs: 0, generated: false, structural: true } : undefined;
    }
    const hash = createHash('sha1').update(now.content).digest('base64');
    if (hash === before?.hash) return undefined;
    const structure = structureOf(file, now.content);
    remembered.set(file, { hash, structure });
    return {
      modifiedMs: now.modifiedMs,
      generated: isGenerated(now.content),
      structural: structure !== before?.structure,
    };
  }

  return { has: (file) => remembered.has(file), changeOf };
}

async function read(file: string): Promise<{ content: string; modifiedMs: number } | undefined> {
  try {
    const { mtimeMs } = await stat(file);
    // latin1 keeps every byte, so that the hash sees them all.
    return { content: await readFile(file, 'latin1'), modifiedMs: mtimeMs };
  } catch {
    return undefined;
  }
}
