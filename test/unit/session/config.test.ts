import { expect, it } from 'vitest';
import { KEYS } from '../../../src/config/table.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { showSettings } from '../../../src/session/config.ts';
import { directoryWith } from '../controller/support/places.ts';

it('prints every setting once with where it comes from, and no value of controller.env', async () => {
  const file = 'route: ssh:dev@bastion\nredact: .a\nport: 9\ncontroller: { env: { TOKEN: s3cret } }\n';
  const cwd = await directoryWith({ '.git/HEAD': '', 'devloop.yaml': file });
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const io = { emit, signal: new AbortController().signal, env: { DEVLOOP_NAMESPACE: 'shop' }, cwd };
  await showSettings({ port: 8, redact: ['.b'] }, io);
  const settings = events.filter((event) => event.type === 'setting');
  expect(settings.map(({ key }) => key)).toEqual(KEYS);
  expect(settings).toEqual(
    expect.arrayContaining([
      { type: 'setting', key: 'port', value: 8, from: ['--port'] },
      { type: 'setting', key: 'namespace', value: 'shop', from: ['DEVLOOP_NAMESPACE'] },
      { type: 'setting', key: 'route', value: 'ssh:dev@bastion', from: ['devloop.yaml'] },
      { type: 'setting', key: 'redact', value: ['.b', '.a'], from: ['--redact', 'devloop.yaml'] },
      { type: 'setting', key: 'pause', value: 'auto', from: ['default'] },
      { type: 'setting', key: 'context', otherwise: 'discovered', from: ['default'] },
      { type: 'setting', key: 'controller.env', value: { TOKEN: '(hidden)' }, from: ['devloop.yaml'] },
    ]),
  );
  expect(JSON.stringify(events)).not.toContain('s3cret');
});
