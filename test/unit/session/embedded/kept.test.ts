import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openKept } from '../../../../src/session/embedded/kept.ts';
import { directoryWith } from '../../controller/support/places.ts';

test('the data is old from the second session on, and that of a newer version is refused', async () => {
  const directory = join(await directoryWith({}), 'kept');
  const opened = async (version: string) => await openKept(directory, version);
  expect(await opened('1.33.0')).toEqual({ directory, data: join(directory, 'etcd'), isOld: false });
  expect(await opened('1.34.1')).toMatchObject({ isOld: true });
  await expect(opened('1.33.0')).rejects.toMatchObject({ code: 'embedded.data' });
});
