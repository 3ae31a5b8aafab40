import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { relayProgram } from '../../../scripts/build-relay.ts';
import { echo, listenAsGateway, startRelayed } from '../../support/relay/relayed.ts';

it('is one file that fits a Secret and runs without anything installed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'relay-bundle-'));
  await using _cleanUp = { [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
  const file = join(directory, 'relay.cjs');
  await build(relayProgram(file));
  expect((await stat(file)).size).toBeLessThan(700_000);
  // Node 20, the target, has none of these.
  expect(await readFile(file, 'utf8')).not.toMatch(/withResolvers|AsyncDisposableStack|Symbol\.asyncDispose/);
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway, { command: [process.execPath, file] });
  expect(await echo(await relayed.call(), 'through the bundle')).toBe('through the bundle');
});
