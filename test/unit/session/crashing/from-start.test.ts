import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CallRecord } from '../../../../src/calls/record.ts';
import { Injector } from '../../../../src/faults/injector.ts';
import { recordingFiles } from '../../../../src/reviews/recording.ts';
import { Activity } from '../../../../src/session/crashing/activity.ts';
import { Runs } from '../../../../src/session/crashing/runs.ts';

const RULE = 'crash create configmaps namespace=shop name=web nth=1';

test('what the controller writes whenever it starts is no trace of a crash, unless the scenario makes it write that, too', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-from-start-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const activity = new Activity();
  const records: CallRecord[] = [];
  const { newer } = recordingFiles(directory, 'calls');
  const write = async (name: string, at = new Date()): Promise<void> => {
    const resource = { group: '', resource: 'configmaps', version: 'v1' };
    activity
      .hooks({ served: () => {}, watched: () => {} } as never)
      .begun?.({ verb: 'update', resource } as never);
    const id = `c-${records.length + 1}`;
    const facts = { verb: 'update', group: '', resource: 'configmaps', namespace: 'shop', name };
    records.push({ v: 1, id, at: at.toISOString(), ms: 1, isWrite: true, code: 200, ...facts });
    await writeFile(newer, records.map((one) => `${JSON.stringify(one)}\n`).join(''));
  };
  let writes = ['web', 'shared'];
  const scenario = {
    async run() {
      activity.observe({ type: 'controller.ready', pid: 1, ms: 1 });
      for (const name of writes) await write(name);
      return undefined;
    },
    reset: async () => undefined,
  };
  const call = async (_: string, path: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: path.split('/').at(-1)! },
  });
  const injector = new Injector();
  const faults = { injector, change: () => [] };
  const { signal } = new AbortController();
  const idle = { emit: () => {}, countAnew: () => {}, signal };
  const parts = { api: { call }, directory, activity, scenario, faults, ...idle } as never;
  for (const name of ['webhooks', 'shared']) await write(name, new Date(Date.now() - 60_000));
  const runs = new Runs(parts, 0);
  const namesIn = (found: { object: { name?: string | undefined } }[]) =>
    found.map(({ object }) => object.name).sort();

  const undisturbed = await runs.run('run 1');
  expect(namesIn(undisturbed.found)).toEqual(['shared', 'web']);
  writes = ['web', 'webhooks', 'shared', 'more'];
  const crashed = await runs.run('a crash', { rule: RULE, also: undisturbed.touched });
  expect(namesIn(crashed.found)).toEqual(['more', 'shared', 'web']);
});
