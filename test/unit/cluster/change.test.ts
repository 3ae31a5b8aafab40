import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { ConfigMap } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { applyChange, createMarked, inRounds, restoreChange } from '../../../src/cluster/marks/change.ts';
import { IN_ANNOTATION, type OwnChange, sessionOf } from '../../../src/cluster/marks/marks.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const ref: ObjectRef = { kind: 'Deployment', namespace: 'shop', name: 'manager' };
const own: OwnChange = {
  store: IN_ANNOTATION,
  fields: [{ path: ['spec', 'replicas'], isOwn: () => true }],
};
const scaledDown = { ref, fields: [{ path: ['spec', 'replicas'], value: 0 }], detail: 'replicas 2 -> 0' };

let cluster: FakeCluster;
let events: DevloopEvent[];
const emit = (event: DevloopEvent): void => void events.push(event);
const work = (sessionId = 's1') => ({
  api: cluster.api,
  sessionId,
  emit,
  signal: new AbortController().signal,
});
const replicas = (): number | undefined =>
  cluster.read<Workload>('Deployment', 'manager', 'shop')!.spec.replicas;
const lost = (): DevloopError => new DevloopError('cluster.unreachable', 'socket hang up');

beforeEach(() => {
  events = [];
  cluster = fakeCluster();
  cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 2, selector: {}, template: { spec: { containers: [{ name: 'manager' }] } } },
  });
});

/** Runs `act` right before `verb` is done for the n-th time. */
function before(verb: string, act: (time: number) => void): void {
  let time = 0;
  cluster.hook = { before: (now) => (now === verb ? act(++time) : undefined) };
}

describe('applyChange', () => {
  it('reads the object again when somebody else wrote in between, and keeps their change', async () => {
    before(
      'patch',
      (time) =>
        time < 4 &&
        cluster.edit<Workload>(
          'Deployment',
          'manager',
          'shop',
          (object) => (object.spec.replicas = 2 + time),
        ),
    );
    await applyChange(work(), scaledDown);
    expect(replicas()).toBe(0);
    await restoreChange(work(), ref, own);
    expect(replicas()).toBe(5);
  });

  it('gives up with change.conflict after a limited number of tries', async () => {
    before('patch', () => cluster.edit('Deployment', 'manager', 'shop', () => {}));
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject({
      name: 'DevloopError',
      code: 'change.conflict',
    });
    expect(cluster.calls.filter((call) => call.startsWith('patch')).length).toBeLessThanOrEqual(12);
    expect(replicas()).toBe(2);
  });

  it('refuses an object that another session has marked, and leaves it alone', async () => {
    await applyChange(work('other'), scaledDown);
    const marked = cluster.read('Deployment', 'manager', 'shop');
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject({
      code: 'session.held',
      message: expect.stringContaining('other'),
    });
    expect(cluster.read('Deployment', 'manager', 'shop')).toEqual(marked);
  });

  it('does nothing to an object that this session has already changed', async () => {
    await applyChange(work(), scaledDown);
    await applyChange(work(), scaledDown);
    expect(cluster.calls.filter((call) => call.startsWith('patch'))).toHaveLength(1);
    await restoreChange(work(), ref, own);
    expect(replicas()).toBe(2);
  });

  it('does not apply a change twice when the answer was lost after the server had written', async () => {
    let answers = 0;
    cluster.hook = {
      after: (verb) => {
        if (verb === 'patch' && ++answers === 1) throw lost();
      },
    };
    await applyChange(work(), scaledDown);
    expect(answers).toBe(1);
    await restoreChange(work(), ref, own);
    expect(replicas()).toBe(2);
  });

  it.each([429, 500, 502, 503, 504])(
    'begins again after HTTP %i, before and after the write',
    async (status) => {
      let failures = 0;
      const fail = (verb: string): void => {
        if (verb === 'patch' && failures++ < 2) throw refusal(status, 'Away', 'not now');
      };
      cluster.hook = { before: fail, after: fail };
      await applyChange(work(), scaledDown);
      expect(replicas()).toBe(0);
      expect(failures).toBeGreaterThanOrEqual(3);
      await restoreChange(work(), ref, own);
      expect(replicas()).toBe(2);
    },
  );

  it('is not repeated once the session ends', async () => {
    const ending = new AbortController();
    cluster.hook = {
      before: () => {
        ending.abort();
        throw lost();
      },
    };
    await expect(applyChange({ ...work(), signal: ending.signal }, scaledDown)).rejects.toMatchObject({
      code: 'cluster.unreachable',
    });
    expect(cluster.calls).toHaveLength(1);
  });

  it('reports at once that a webhook does not answer', async () => {
    before('patch', () => {
      throw refusal(500, 'InternalError', 'failed calling webhook "x": connection refused');
    });
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject({ code: 'cluster.rejected' });
    expect(cluster.calls.filter((call) => call.startsWith('patch'))).toHaveLength(1);
  });

  it('turns a refusal into cluster.forbidden or cluster.rejected, at once', async () => {
    before('patch', () => {
      throw refusal(403, 'Forbidden', 'no');
    });
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject({
      code: 'cluster.forbidden',
    });
    before('patch', () => {
      throw refusal(422, 'Invalid', 'no');
    });
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject({
      code: 'cluster.rejected',
    });
    expect(cluster.calls.filter((call) => call.startsWith('patch'))).toHaveLength(2);
  });

  it('does not read again what was read a moment ago, unless it has changed or was marked', async () => {
    const seen = cluster.read<Workload>('Deployment', 'manager', 'shop')!;
    await applyChange(work(), { ...scaledDown, seen });
    expect(cluster.calls).toEqual(['patch Deployment shop/manager']);
    const marked = cluster.read<Workload>('Deployment', 'manager', 'shop')!;
    await restoreChange(work(), ref, own);
    await applyChange(work('s2'), { ...scaledDown, seen });
    await restoreChange(work('s2'), ref, own);
    await applyChange(work('s3'), { ...scaledDown, seen: marked });
    expect(sessionOf(cluster.read('Deployment', 'manager', 'shop')!)).toBe('s3');
    expect(replicas()).toBe(0);
  });

  it('runs the check again before each try', async () => {
    before('patch', () =>
      cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => (object.spec.replicas = 9)),
    );
    const check = (object: object): void => {
      if ((object as Workload).spec.replicas === 9)
        throw new DevloopError('change.conflict', 'changed by somebody else');
    };
    await expect(applyChange(work(), { ...scaledDown, check })).rejects.toMatchObject({
      message: 'changed by somebody else',
    });
    expect(replicas()).toBe(9);
  });

  it('reports that the object is gone, also where it goes between read and write', async () => {
    before('patch', () => cluster.drop('Deployment', 'manager', 'shop'));
    const gone = { code: 'target.not-found' };
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject(gone);
    await expect(applyChange(work(), scaledDown)).rejects.toMatchObject(gone);
  });
});

describe('restoreChange', () => {
  it('changes nothing the second time, and nothing for an object that is gone', async () => {
    await applyChange(work(), scaledDown);
    await restoreChange(work(), ref, own);
    const after = cluster.read('Deployment', 'manager', 'shop');
    expect(await restoreChange(work(), ref, own)).toEqual([]);
    expect(cluster.read('Deployment', 'manager', 'shop')).toEqual(after);
    cluster.drop('Deployment', 'manager', 'shop');
    expect(await restoreChange(work(), ref, own)).toEqual([]);
  });

  it('has nothing left to do when somebody deletes the object between read and write', async () => {
    await applyChange(work(), scaledDown);
    const seen = cluster.read('Deployment', 'manager', 'shop');
    before('patch', () => cluster.drop('Deployment', 'manager', 'shop'));
    expect(await restoreChange(work(), ref, own, seen)).toEqual([]);
  });

  it('leaves an object alone that another session has marked in between', async () => {
    await applyChange(work('s2'), scaledDown);
    await restoreChange(work(), ref, own);
    expect(sessionOf(cluster.read('Deployment', 'manager', 'shop')!)).toBe('s2');
    expect(replicas()).toBe(0);
  });

  it('has nothing left to do when somebody else restores the object between read and write', async () => {
    await applyChange(work(), scaledDown);
    cluster.hook.before = async (verb) => {
      if (verb !== 'patch') return;
      cluster.hook = {};
      await restoreChange(work(), ref, own);
    };
    expect(await restoreChange(work(), ref, own)).toEqual([]);
    expect(replicas()).toBe(2);
  });

  it('reports nothing of a value that is gone when somebody else restores the object after all', async () => {
    await applyChange(work(), scaledDown);
    cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => (object.spec.replicas = 7));
    cluster.hook.before = async (verb) => {
      if (verb !== 'patch') return;
      cluster.hook = {};
      cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => (object.spec.replicas = 0));
      await restoreChange(work(), ref, own);
    };
    expect(await restoreChange(work(), ref, own)).toEqual([]);
    expect(replicas()).toBe(2);
  });

  it('still reports what was kept when the answer to its patch was lost', async () => {
    await applyChange(work(), scaledDown);
    cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => (object.spec.replicas = 7));
    let answers = 0;
    cluster.hook = {
      after: (verb) => {
        if (verb === 'patch' && ++answers === 1) throw lost();
      },
    };
    expect(await restoreChange(work(), ref, own)).toEqual([
      { path: ['spec', 'replicas'], now: 7, before: 2 },
    ]);
  });

  it('keeps the mark of a change whose undo is invalid', async () => {
    await applyChange(work(), scaledDown);
    cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => {
      object.metadata.annotations![UNDO_ANNOTATION] = 'null';
    });
    expect(await restoreChange(work(), ref, own)).toEqual([{ fault: 'devloop.dev/undo cannot be read' }]);
    expect(replicas()).toBe(0);
    expect(sessionOf(cluster.read('Deployment', 'manager', 'shop')!)).toBe('s1');
  });
});

describe('createMarked', () => {
  const made: ObjectRef = { kind: 'ConfigMap', namespace: 'shop', name: 'made' };
  const object = (session: string): ConfigMap => ({
    metadata: { name: 'made', namespace: 'shop', labels: { [SESSION_LABEL]: session } },
  });

  it("returns the object of an earlier try, and rejects somebody else's", async () => {
    const first = await createMarked(work(), made, object('s1'));
    expect((await createMarked(work(), made, object('s1'))).metadata.uid).toBe(first.metadata.uid);
    await expect(createMarked(work('s2'), made, object('s2'))).rejects.toMatchObject({
      code: 'change.conflict',
    });
  });

  it('tries again when a conflicting object has just been deleted', async () => {
    cluster.put('ConfigMap', object('other'));
    cluster.hook = {
      before: (verb) => (verb === 'get' ? cluster.drop('ConfigMap', 'made', 'shop') : undefined),
    };
    await createMarked(work(), made, object('s1'));
    expect(sessionOf(cluster.read('ConfigMap', 'made', 'shop')!)).toBe('s1');
  });
});

describe('inRounds', () => {
  it('rethrows unknown errors as they are', async () => {
    const bug = new TypeError('bug');
    await expect(
      inRounds(work(), ref, async () => {
        throw bug;
      }),
    ).rejects.toBe(bug);
  });
});
