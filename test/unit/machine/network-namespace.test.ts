import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOnlyWay, whyNotIsolated, withoutNetwork } from '../../../src/machine/network-namespace.ts';
import { listenOn } from '../../../src/machine/port.ts';
import { runTool } from '../../../src/machine/tool.ts';

const isLinux = process.platform === 'linux';

/** Prints what each URL answers, or why it cannot be reached. */
const ASK = `for (const url of process.argv.slice(1))
  console.log(await fetch(url).then((answer) => answer.text(), ({ cause }) => cause.code ?? cause.message));`;

async function answering(text: string): Promise<number> {
  const server = createServer((_, response) => void response.end(text));
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return port;
}

test.runIf(isLinux)(
  'a program without a network reaches the one port, and what it serves itself',
  async () => {
    expect(await whyNotIsolated()).toBeUndefined();
    const directory = await mkdtemp(join(tmpdir(), 'devloop-net-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const [port, other] = await Promise.all([answering('the API'), answering('something else')]);
    const way = { port, socket: join(directory, 'api.sock') };
    await using _ = await openOnlyWay(way);
    const ask = [process.execPath, '--input-type=module', '-e', ASK, `http://localhost:${port}`];
    const urls = [`http://127.0.0.1:${other}`, 'http://192.0.2.1'];
    const { code, stdout, stderr } = await runTool(withoutNetwork(way, [...ask, ...urls]));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual(['the API', 'ECONNREFUSED', 'ENETUNREACH']);
    const own = `import { createServer } from 'node:http';
    const server = createServer((_, response) => response.end('own')).listen(${other}, '127.0.0.1', async () => {
      console.log(await (await fetch('http://127.0.0.1:${other}')).text());
      process.exit();
    });`;
    const served = await runTool(withoutNetwork(way, [process.execPath, '--input-type=module', '-e', own]));
    expect(served.stdout).toBe('own\n');
  },
);

test.runIf(isLinux)('a program whose only way cannot be made does not run', async () => {
  const port = 0;
  const way = { port, socket: '/nowhere/api.sock' };
  const ran = await runTool(withoutNetwork({ ...way, port: -1 }, ['echo', 'ran']));
  expect(ran.code).toBe(1);
  expect(ran.stdout).toBe('');
});
