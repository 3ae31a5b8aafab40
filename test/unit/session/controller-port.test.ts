import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { requireControllerPort } from '../../../src/session/context/controller-port.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { directoryWith } from '../controller/support/places.ts';

test('a port that a process which looks ended still has for a moment is waited for', async () => {
  const machine = await thisMachine({ XDG_STATE_HOME: await directoryWith() });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await expect(requireControllerPort(port, machine)).rejects.toMatchObject({ code: 'port.in-use' });
  setTimeout(() => server.close(), 100);
  await requireControllerPort(port, machine);
});
