import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { eventually } from '../../support/eventually.ts';
import { openRecorder } from '../../support/login/recorder.ts';
import { credential, V1 } from '../../support/login/situation.ts';
import { openTerminal } from '../../support/terminal.ts';

const PROGRAM = join(import.meta.dirname, '../../../bin/devloop.js');

it('a credential plugin can ask at the terminal, and its answer reaches the API server', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-login-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const pair = await selfSignedPair(['localhost'], { days: 1 });
  await using recorder = await openRecorder({ pair });
  const plugin = join(directory, 'plugin');
  const answer = JSON.stringify(credential({ token: 'TYPED' })).replace('TYPED', '\'"$line"\'');
  await writeFile(plugin, `#!/bin/sh\nprintf 'Code: ' >&2\nread line\nprintf '%s' '${answer}'\n`);
  await chmod(plugin, 0o755);
  const cluster = {
    server: `https://localhost:${recorder.port}`,
    'certificate-authority-data': Buffer.from(pair.certificate).toString('base64'),
  };
  const kubeconfig = join(directory, 'config');
  const exec = { apiVersion: V1, command: './plugin', interactiveMode: 'Always' };
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'one',
      contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { exec } }],
    }),
  );
  const env = { HOME: directory, KUBECONFIG: kubeconfig, XDG_STATE_HOME: join(directory, 'state') };
  await using terminal = openTerminal(`${process.execPath} ${PROGRAM} status`, { cwd: directory, env });
  await eventually(async () => expect(terminal.shown()).toContain('Code: '));
  terminal.type('1234\n');
  await eventually(async () => expect(recorder.seen.join('\n')).toContain('authorization=Bearer 1234'));
  await terminal.closed;
});
