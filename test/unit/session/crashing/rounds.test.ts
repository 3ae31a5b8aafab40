import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ApiError } from '../../../../src/cluster/api/errors.ts';
import type { KubeObject } from '../../../../src/cluster/api/objects.ts';
import { Injector } from '../../../../src/faults/injector.ts';
import { parseRule } from '../../../../src/faults/parse.ts';
import type { CrashRound } from '../../../../src/report/crash-round.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { recordingFiles } from '../../../../src/reviews/recording.ts';
import { Activity } from '../../../../src/session/crashing/activity.ts';
import { crashRounds } from '../../../../src/session/crashing/rounds.ts';

type Fields = Record<string, unknown>;

class Killed extends Error {}

/** A cluster with one controller: what that does for the object of the scenario, until it is killed. */
class Cluster {
  objects = new Map<string, KubeObject & Fields>();
  events: DevloopEvent[] = [];
  activity = new Activity();
  injector = new Injector();
  directory: string;
  #records: object[] = [];
  #made = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** The controller fills its cache. */
  listed(): void {
    this.activity.hooks({ served: () => {}, watched: () => {} }).begun?.({
      ...{ method: 'GET', verb: 'list', path: '', query: new URLSearchParams(), isDryRun: false },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
    });
  }

  /** A name that is another one each time. */
  made(): string {
    this.#made += 1;
    return `x${this.#made}k`;
  }

  has(name: string): boolean {
    return [...this.objects.values()].some(({ metadata }) => metadata.name === name);
  }

  /** `name` ends with a dash if the API server is to make up the rest. */
  write(verb: 'create' | 'update' | 'delete', name: string, { metadata, ...fields }: Fields = {}): void {
    const isGenerated = name.endsWith('-');
    const named = isGenerated ? `${name}${this.made()}` : name;
    const value = {
      ...{ kind: 'ConfigMap', apiVersion: 'v1', ...fields },
      metadata: {
        name: named,
        namespace: 'shop',
        ...(isGenerated && { generateName: name }),
        ...(metadata as Fields),
      },
    };
    const path = `/api/v1/namespaces/shop/configmaps/${named}`;
    if (verb === 'delete') this.objects.delete(path);
    else this.objects.set(path, value);
    const what = { verb, group: '', resource: 'configmaps', namespace: 'shop' };
    const resource = 'status' in fields ? 'configmaps/status' : 'configmaps';
    const injected = this.injector.meetAnswered({ ...what, name });
    this.#records.push({
      ...{ v: 1, id: `c-${this.#records.length + 1}`, at: new Date().toISOString(), ms: 1, isWrite: true },
      ...{ ...what, resource, name: named, kind: 'ConfigMap', code: verb === 'create' ? 201 : 200 },
      ...(verb === 'delete' ? {} : { objectAfter: value }),
      ...(injected && { faults: injected.by }),
    });
    if (injected) throw new Killed();
  }

  /** Runs the controller, again when it is killed, and reports that it reconciles if there is something. */
  control(reconcile: () => void): void {
    const { activity, objects } = this;
    try {
      reconcile();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      activity.observe({ type: 'controller.started', pid: 2, command: [], build: 'b' });
      activity.observe({ type: 'controller.ready', pid: 2, ms: 1 });
      this.listed();
      if (objects.size === 0) return;
      reconcile();
    }
    const counts = { writes: 0, reads: 0, failed: 0 };
    const facts = { id: 'k-1', reconcile: 'r', at: '', controller: 'shop', name: 'web', ms: 1, counts };
    activity.observe({ type: 'reconcile', ...facts, result: 'success', calls: [], after: [] });
  }

  async flush(): Promise<void> {
    const lines = this.#records.splice(0).map((record) => `${JSON.stringify(record)}\n`);
    await appendFile(recordingFiles(this.directory, 'calls').newer, lines.join(''));
  }
}

interface Case {
  /** What the command does. */
  run(cluster: Cluster): void;
  /** What the reset leaves. */
  keeps?(object: KubeObject, all: KubeObject[]): boolean;
  /** Happens when an object was read. */
  later?(object: Fields): void;
}

async function crashed({
  run,
  keeps = () => false,
  later,
}: Case): Promise<{ rounds: CrashRound[]; cluster: Cluster }> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-rounds-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const cluster = new Cluster(directory);
  const { activity, injector, events, objects } = cluster;
  cluster.listed();
  activity.observe({ type: 'controller.ready', pid: 1, ms: 1 });
  const call = async (_: string, path: string): Promise<unknown> => {
    const found = objects.get(path);
    if (found) {
      const read = structuredClone(found);
      later?.(found);
      return read;
    }
    throw new ApiError('', 404, 'NotFound');
  };
  const change = ({ add = [], clear }: { add?: string[]; clear?: string[] }): object[] => {
    if (clear) injector.clear(clear);
    return injector.add(add.map(parseRule))!;
  };
  const scenario = {
    run: async () => {
      run(cluster);
      await cluster.flush();
      return undefined;
    },
    reset: async () => {
      const all = [...objects.values()];
      for (const [path, object] of objects) if (!keeps(object, all)) objects.delete(path);
      return undefined;
    },
  };
  const { signal } = new AbortController();
  await crashRounds(
    {
      ...{ api: { call } as never, directory, activity, scenario, signal, countAnew: () => {} },
      faults: { injector, change } as never,
      emit: (event) => void events.push(event),
    },
    { when: 'after', limit: 30, quietSeconds: 0.1, ignored: [] },
  );
  return {
    cluster,
    rounds: events.flatMap((event) => (event.type === 'crashtest.round' ? [event.round] : [])),
  };
}

const resultsOf = (rounds: CrashRound[]): string[] =>
  rounds.map(({ write, result }) => `${write}: ${result}`);

test('a controller that makes a Job for each try is found by the Job too many, and what it leaks is named', async () => {
  const { rounds, cluster } = await crashed({
    run: (one) =>
      one.control(() => {
        if (one.has('web')) return;
        one.write('create', 'job-');
        one.write('create', 'web');
      }),
    // Nothing owns the first one of two.
    keeps: (object, all) =>
      all.filter(({ metadata }) => metadata.generateName).indexOf(object) === 0 && all.length > 2,
  });
  expect(resultsOf(rounds)).toEqual([
    'create ConfigMap shop/job-*: different',
    'create ConfigMap shop/web: same',
  ]);
  expect(rounds[0]).toMatchObject({
    differences: [{ object: 'ConfigMap shop/job-*', what: 'more', count: 2, expected: 1 }],
    repeat: "<again> --point 'crash create configmaps namespace=shop name=job-* nth=1'",
  });
  expect(cluster.events.filter((event) => event.type === 'warning')).toMatchObject([
    { code: 'crashtest.leaked' },
  ]);
});

test('what an earlier run has left under a name of its own is not counted in a later one', async () => {
  const { rounds } = await crashed({
    run: (cluster) =>
      cluster.control(() => {
        if (cluster.has('web')) return;
        cluster.write('update', `data-${cluster.made()}`);
        cluster.write('create', 'web');
      }),
    keeps: ({ metadata }) => metadata.name.startsWith('data-'),
  });
  expect(resultsOf(rounds)).toContain('create ConfigMap shop/web: same');
});

test('what is different for a moment only is not', async () => {
  const { rounds } = await crashed({
    run: (cluster) => {
      const isFirst = !cluster.has('web');
      cluster.control(() => {
        if (!cluster.has('web')) cluster.write('create', 'web', { data: { isReady: 'no' } });
        if (isFirst && cluster.injector.list().length === 0)
          cluster.write('update', 'web', { data: { isReady: 'yes' } });
      });
    },
    later: (object) => Object.assign(object, { data: { isReady: 'yes' } }),
  });
  expect(resultsOf(rounds)).toContain('create ConfigMap shop/web: same');
});

test('a command that deletes the object in the end leaves nothing to be reconciled, and a leak is found', async () => {
  const { rounds } = await crashed({
    run: (cluster) => {
      cluster.control(() => cluster.has('web') || cluster.write('create', 'web'));
      cluster.control(() => cluster.has('backup') || cluster.write('create', 'backup'));
      cluster.control(() => {
        if (!cluster.has('web')) return;
        cluster.write('delete', 'web');
        cluster.write('delete', 'backup');
      });
    },
  });
  expect(resultsOf(rounds)).toEqual([
    'create ConfigMap shop/web: same',
    'create ConfigMap shop/backup: same',
    'delete ConfigMap shop/web: different',
    'delete ConfigMap shop/backup: same',
  ]);
});

test('a status that the controller writes only after the crash is compared', async () => {
  const { rounds } = await crashed({
    run: (cluster) =>
      cluster.control(() => {
        if (cluster.has('web')) cluster.write('update', 'web', { status: { phase: 'Failed' } });
        else cluster.write('create', 'web');
      }),
  });
  expect(rounds).toMatchObject([{ result: 'different', differences: [{ what: 'changed' }] }]);
});
