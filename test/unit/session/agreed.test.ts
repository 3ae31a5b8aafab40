import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agreedIn, agreements, forget, remember } from '../../../src/session/context/agreed.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { sessionIds } from '../../../src/session/context/local-sessions.ts';
import { directoryWith } from '../controller/support/places.ts';

const SHOP = { id: 'uid 1', context: 'prod', server: 'https://a', at: 'now', what: ['Service shop/hooks'] };

async function machine() {
  return await thisMachine({ XDG_STATE_HOME: await directoryWith({}) });
}

test('what was agreed to is remembered for that cluster alone, and added up', async () => {
  const here = await machine();
  expect(agreements(here)).toEqual([]);
  await remember(here, SHOP);
  await remember(here, { ...SHOP, id: 'uid 2', context: 'staging' });
  await remember(here, { ...SHOP, what: ['Deployment shop/manager'] });
  expect([...agreedIn(here, 'uid 1')]).toEqual(['Service shop/hooks', 'Deployment shop/manager']);
  expect([...agreedIn(here, 'uid 2')]).toEqual(['Service shop/hooks']);
  expect(agreedIn(here, 'uid 3').size).toBe(0);
  expect(sessionIds(here), 'it is not taken for a session').toEqual([]);
});

test('a context can be forgotten', async () => {
  const here = await machine();
  await remember(here, SHOP);
  await remember(here, { ...SHOP, id: 'uid 2', context: 'staging' });
  expect(await forget(here, ({ context }) => context === 'prod')).toMatchObject([{ id: 'uid 1' }]);
  expect(agreements(here)).toMatchObject([{ id: 'uid 2' }]);
});

test('the file is for its owner only, and one that others could have written counts for nothing', async () => {
  const here = await machine();
  await remember(here, SHOP);
  const { mode } = await stat(join(here.stateDirectory, '.agreed.json'));
  expect(mode & 0o777).toBe(0o600);
  await chmod(here.stateDirectory, 0o777);
  expect(agreements(here)).toEqual([]);
  await expect(remember(here, { ...SHOP, what: ['x'] })).rejects.toMatchObject({ code: 'files.not-written' });
});

test.each(['', '{', '[]', 'null', '{"clusters":{}}', '{"clusters":[null,{"id":1}]}'])(
  'a damaged file counts for nothing: %s',
  async (text) => {
    const here = await machine();
    await mkdir(here.stateDirectory, { mode: 0o700 });
    await writeFile(join(here.stateDirectory, '.agreed.json'), text);
    expect(agreements(here)).toEqual([]);
    await remember(here, SHOP);
    expect(agreements(here)).toHaveLength(1);
  },
);
