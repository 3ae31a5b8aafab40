import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory, endOrphans, isKnownDead } from '../../../src/session/context/session-directories.ts';

it('a session that starts keeps its directory while another one removes abandoned directories', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = { ...(await thisMachine({})), host: 'here', stateDirectory };
  let going = true;
  const looking = (async () => {
    while (going) await endOrphans(machine, () => {});
  })();
  const sessions = Array.from({ length: 100 }, (_, index) => `s${index}`);
  try {
    for (const session of sessions) await claimDirectory(machine, session);
  } finally {
    going = false;
    await looking;
  }
  expect((await readdir(stateDirectory)).sort()).toEqual(sessions.sort());
  await rm(stateDirectory, { recursive: true });
});

it('only directories that this machine abandoned are removed from a home directory that machines share', async () => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'devloop-state-'));
  const machine = { ...(await thisMachine({})), host: 'here', stateDirectory };
  for (const host of ['here', 'elsewhere']) {
    const owner = { host, pid: 4_194_304, processStart: `boot-of-${host}/1` };
    await mkdir(join(stateDirectory, `of-${host}`));
    await writeFile(join(stateDirectory, `of-${host}`, 'devloop.json'), JSON.stringify(owner));
  }
  const dead = await Promise.all(['of-here', 'of-elsewhere'].map((one) => isKnownDead(machine, one)));
  expect(dead).toEqual([true, false]);
  await endOrphans(machine, () => {});
  expect(await readdir(stateDirectory)).toEqual(['of-elsewhere']);
  await rm(stateDirectory, { recursive: true });
});
