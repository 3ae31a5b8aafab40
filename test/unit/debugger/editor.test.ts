import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { DapEditor } from '../../../src/debugger/editor.ts';
import { framed } from '../../../src/debugger/frames.ts';

/** Both ends of a connection. */
async function connection(): Promise<{ near: Socket; far: Socket; port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const far = connect({ host: '127.0.0.1', port });
  const [near] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void far.destroy());
  return { near, far, port };
}

test('a message that waits for delve and cannot be passed on closes the connection of its editor', async () => {
  const { near, far, port } = await connection();
  const errors: string[] = [];
  const deep = `{"type":"request","arguments":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
  const events = { onConfigured: () => {}, onError: (why: string) => void errors.push(why) };
  const editor = new DapEditor(near, framed(deep), events);
  editor.connect(port);
  await once(far, 'close');
  expect(errors).toHaveLength(1);
});
