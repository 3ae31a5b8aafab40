import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findIdentities } from '../../../src/route/ssh/identities.ts';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { LOCAL } from '../../support/sshd/local.ts';

it('uses the keys in files when the agent does not respond', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-agent-'));
  const path = join(directory, 'agent');
  const open = new Set<Socket>();
  const agent = createServer((socket) => void open.add(socket)).listen(path);
  await once(agent, 'listening');
  const host = readSettings(`identityagent ${path}\nidentityfile /nowhere/key`, { host: 'box' }, LOCAL);
  const { signal } = new AbortController();
  const found = await findIdentities(host, { ask: undefined, unlocked: new Map(), signal });
  expect(found).toEqual({
    identities: [],
    problems: [expect.stringContaining(path)],
  });
  for (const socket of open) socket.destroy();
  agent.close();
  await rm(directory, { recursive: true });
});
