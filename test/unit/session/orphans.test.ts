import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { claimDirectory, endOrphans } from '../../../src/session/orphans.ts';
import type { Place } from '../../../src/session/place.ts';

it('a session that begins keeps its directory, whenever another one looks for what is left behind', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const place: Place = { user: 'dev', host: 'here', stateDirectory };
  let going = true;
  const looking = (async () => {
    while (going) await endOrphans(place, () => {});
  })();
  const sessions = Array.from({ length: 100 }, (_, index) => `s${index}`);
  try {
    for (const session of sessions) await claimDirectory(place, session);
  } finally {
    going = false;
    await looking;
  }
  expect((await readdir(stateDirectory)).sort()).toEqual(sessions.sort());
  await rm(stateDirectory, { recursive: true });
});
