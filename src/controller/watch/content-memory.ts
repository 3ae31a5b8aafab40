import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { COARSE_CLOCK_MS } from '../../checkout/files.ts';
import { isGenerated } from './filter.ts';

export interface ContentChange {
  file: string;
  /** The last modification, on the clock of `Date.now()`; 0 when the file is gone. */
  modifiedMs: number;
  generated: boolean;
  /** Whether the program may now consist of other files. */
  structural: boolean;
}

export interface ContentMemory {
  has(file: string): boolean;
  /** Every file that was there when it was last read. */
  files(): string[];
  /** Reads the files, and returns those whose content differs from when they were last read. */
  changesIn(files: string[]): Promise<ContentChange[]>;
}

/** Remembers the content of files, so that neither a save without a change nor `make generate` with the same result counts as a change. `structureOf`: see Sources. */
export function createContentMemory(structureOf = (_path: string, _content: string) => ''): ContentMemory {
  const remembered = new Map<string, { hash: string; structure: string }>();

  async function changeOf(file: string): Promise<ContentChange | undefined> {
    const before = remembered.get(file);
    const now = await read(file);
    if (!now) {
      const known = remembered.delete(file);
      return known ? { file, modifiedMs: 0, generated: false, structural: true } : undefined;
    }
    const hash = createHash('sha1').update(now.content).digest('base64');
    if (hash === before?.hash) return undefined;
    const structure = structureOf(file, now.content);
    remembered.set(file, { hash, structure });
    return {
      file,
      modifiedMs: now.modifiedMs,
      generated: isGenerated(now.content),
      structural: structure !== before?.structure,
    };
  }

  return {
    has: (file) => remembered.has(file),
    files: () => [...remembered.keys()],
    async changesIn(files) {
      const changes = await Promise.all(files.map(changeOf));
      return changes.filter((change) => change !== undefined);
    },
  };
}

export function isLate({ modifiedMs }: Pick<ContentChange, 'modifiedMs'>, sinceMs: number): boolean {
  return modifiedMs > sinceMs - COARSE_CLOCK_MS;
}

async function read(file: string): Promise<{ content: string; modifiedMs: number } | undefined> {
  try {
    // latin1 keeps every byte, so the hash covers them all.
    const content = await readFile(file, 'latin1');
    // The time is read after the content: otherwise, new content could be remembered with an old time, and would never count as a change.
    const { mtimeMs } = await stat(file);
    return { content, modifiedMs: mtimeMs };
  } catch {
    return undefined;
  }
}
