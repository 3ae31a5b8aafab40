import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createContentMemory } from '../../../../src/controller/watch/content-memory.ts';

// A pipe makes the moment last: it can be read only once somebody writes to it.
it('never takes new content for old, when a file is saved while it is read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'memory-'));
  const file = join(directory, 'main.go');
  execFileSync('mkfifo', [file]);
  try {
    const reading = createContentMemory().changesIn([file]);
    await sleep(50);
    const savedAt = Date.now();
    await writeFile(file, 'package main');
    const [change] = await reading;
    // The times of files come from a clock that lags by some milliseconds.
    expect(change!.modifiedMs).toBeGreaterThan(savedAt - 20);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
