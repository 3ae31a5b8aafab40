import { expect, it } from 'vitest';
import { lock } from '../../cluster/lock.ts';

const LONG = `build /home/${'long/'.repeat(40)}`;

it.runIf(process.platform === 'linux')('what has a long name is locked by one at a time', async () => {
  await using _ = await lock(LONG, 0);
  await expect(lock(LONG, 0)).rejects.toThrow('another process held');
  await using _other = await lock(`${LONG}other`, 0);
});
