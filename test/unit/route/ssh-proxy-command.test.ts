import { once } from 'node:events';
import { expect, it } from 'vitest';
import { openLink } from '../../../src/route/ssh/link.ts';
import { type HostSettings, readSettings } from '../../../src/route/ssh/settings.ts';
import { openStream } from '../../../src/route/ssh/stream.ts';
import { LOCAL } from '../../support/sshd/local.ts';
import { nobodySigning } from '../../support/sshd/signing.ts';

const { signal } = new AbortController();

function hostOver(command: string): HostSettings {
  const settings = [`proxycommand ${command}`, 'userknownhostsfile none', 'identityagent none'];
  return readSettings(settings.join('\n'), { host: 'box' }, LOCAL);
}

it.each(['INT', 'HUP'])(
  'a ProxyCommand outlives the SIG%s that a terminal sends to all its processes',
  async (name) => {
    const stream = await openStream(hostOver(`sh -c 'kill -${name} $$; exec cat'`), 10_000, signal);
    stream.on('error', () => {});
    stream.write('hello');
    expect(String((await once(stream, 'data'))[0])).toBe('hello');
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.destroy();
    await closed;
  },
);

it.each(['/nonexistent/command', 'true', "sh -c 'echo SSH-2.0-box; exit 3'", "sh -c 'sleep 0.1; exit 3'"])(
  'tells that the ProxyCommand %s is what fails',
  async (command) => {
    await expect(openLink([hostOver(command)], 10_000, nobodySigning(signal))).rejects.toMatchObject({
      code: 'ssh.unreachable',
      message: expect.stringMatching(/^SSH host dev@box cannot be reached over its ProxyCommand: ./),
    });
  },
);
