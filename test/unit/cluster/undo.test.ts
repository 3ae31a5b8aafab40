import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, Service } from '../../../src/cluster/api/objects.ts';
import { changePatch, sessionOf } from '../../../src/cluster/marks/marks.ts';
import { originalSelector, SELECTOR } from '../../../src/cluster/marks/selector.ts';
import { planUndo } from '../../../src/cluster/marks/undo.ts';
import { relayLabels, SESSION_LABEL, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { ownChangeOf } from '../../../src/cluster/takeover/restore-steps.ts';
import { applyJsonPatch } from '../../support/json-patch.ts';

type Selector = Record<string, string> | undefined;

const before = { 'control-plane': 'manager' };
const relayed = relayLabels('s1');

/** A Service that session s1 has changed, and whose selector somebody else writes after that. */
function changed(to: Selector, written: Selector): Service {
  const service: Service = { metadata: { name: 'hook', resourceVersion: '1' }, spec: { selector: before } };
  const wanted = { path: ['spec', 'selector'], ...(to === undefined ? {} : { value: to }) };
  const after = applyJsonPatch(service, changePatch(service, 's1', [wanted]));
  if (written === undefined) delete after.spec.selector;
  else after.spec.selector = written;
  return after;
}

function restored(service: Service): { selector: Selector; kept: Json | undefined } {
  const plan = planUndo(service, SELECTOR);
  if ('fault' in plan) throw new Error(plan.fault);
  const after = applyJsonPatch(service, plan.patch);
  expect(sessionOf(after)).toBeUndefined();
  expect(after.metadata.annotations).toEqual({});
  return { selector: after.spec.selector, kept: plan.fields.find(({ kept }) => kept)?.to };
}

describe('the selector of a Service', () => {
  it.each<[string, Selector, Selector]>([
    ['that nobody touched', relayed, relayed],
    ['that was removed', undefined, undefined],
    ['that kubectl apply merged with ours', relayed, { ...before, ...relayed }],
    ['that kubectl apply wrote again', undefined, before],
    ['that is as before already', relayed, before],
  ])('%s is as it was before', (_, to, written) => {
    expect(restored(changed(to, written))).toEqual({ selector: before, kept: undefined });
  });

  it.each<[string, Selector, Selector, Selector]>([
    ['replaced', undefined, { app: 'new' }, { app: 'new' }],
    ['extended', relayed, { ...before, ...relayed, app: 'new' }, { ...before, app: 'new' }],
    ['replaced beside ours', relayed, { ...relayed, app: 'new' }, { app: 'new' }],
    ['changed beside ours', relayed, { ...relayed, 'control-plane': 'x' }, { 'control-plane': 'x' }],
  ])('that somebody else %s loses what is ours and keeps what is theirs', (_, to, written, theirs) => {
    expect(restored(changed(to, written))).toEqual({ selector: theirs, kept: theirs });
  });

  it('that somebody else removed stays removed', () => {
    const plan = planUndo(changed(relayed, undefined), SELECTOR);
    expect(plan).toMatchObject({ fields: [{ now: undefined, to: undefined, before, kept: true }] });
  });
});

describe('an undo that devloop cannot have written', () => {
  const withUndo = (text: string): Service => ({
    metadata: { name: 'hook', labels: { [SESSION_LABEL]: 's1' }, annotations: { [UNDO_ANNOTATION]: text } },
    spec: { selector: before },
  });
  const naming = (...fields: unknown[]): string => JSON.stringify({ v: 1, fields });
  const path = ['spec', 'selector'];

  it.each([
    ...['', '{', 'null', '[]', '"text"', '7', '{"v":1}', '{"v":2,"fields":[]}', '{"v":1,"fields":[]}'],
    ...[null, 7, 'x', {}, { path: null }, { path: 'spec.selector' }, { path: [] }, { path: [1] }].map((one) =>
      naming(one),
    ),
  ])('is not read: %s', (text) => {
    expect(planUndo(withUndo(text), SELECTOR)).toEqual({ fault: 'devloop.dev/undo cannot be read' });
  });

  it.each([
    [{ path: ['spec', 'type'], before: 'ExternalName' }, 'names spec.type'],
    [{ path: ['metadata', 'finalizers'], before: ['x/y'] }, 'names metadata.finalizers'],
    [{ path: ['spec'], before: {} }, 'names spec,'],
    [{ path: [...path, 'app'], before: 'x' }, 'names spec.selector.app'],
    [{ path, after: relayLabels('s1') }, 'values of spec.selector'],
    [{ path, before: {} }, 'values of spec.selector'],
    [{ path, before: ['app'] }, 'values of spec.selector'],
    [{ path, before: 'app=x' }, 'values of spec.selector'],
    [{ path, before: { app: 1 } }, 'values of spec.selector'],
    [{ path, before: { app: 'a b' } }, 'values of spec.selector'],
    [{ path, before, after: { app: 'x' } }, 'values of spec.selector'],
    [{ path, before, after: relayLabels('s2') }, 'values of spec.selector'],
    [{ path, before, after: null }, 'values of spec.selector'],
  ])('is not carried out: %j', (field, fault) => {
    expect(planUndo(withUndo(naming(field)), SELECTOR)).toEqual({ fault: expect.stringContaining(fault) });
    expect(originalSelector(withUndo(naming(field)))).toEqual(before);
  });

  it('is not carried out where it is nested thousands of levels deep', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    for (const name of ['before', 'after']) {
      const field = { path, before, [name]: 'deep' };
      const service = withUndo(naming(field).replace('"deep"', deep));
      expect(planUndo(service, SELECTOR)).toHaveProperty('fault');
      expect(originalSelector(service)).toEqual(before);
    }
  });

  it('is not carried out where it names a field twice, or another one besides', () => {
    const good = { path, before };
    for (const text of [naming(good, good), naming(good, { path: ['spec', 'type'], before: 'NodePort' })])
      expect(planUndo(withUndo(text), SELECTOR)).toHaveProperty('fault');
  });

  it('is never carried out as an annotation of a Deployment, nor with replicas that there cannot be', () => {
    const undo = naming({ path: ['spec', 'template'], before: {} });
    const deployment = (labels: Record<string, string>) => ({
      metadata: {
        name: 'manager',
        labels: { [SESSION_LABEL]: 's1', ...labels },
        annotations: { [UNDO_ANNOTATION]: undo },
      },
      spec: { replicas: 0 },
    });
    const own = ownChangeOf('Deployment')!;
    for (const replicas of [
      '',
      '-1',
      '1e3',
      '0x2',
      '99999999999',
      '2-',
      '2-1f2e3d4',
      '-1f2e3d4c',
      '2-1f2e3d4c-x',
    ])
      expect(planUndo(deployment({ 'devloop.dev/replicas': replicas }), own)).toHaveProperty('fault');
    expect(planUndo(deployment({}), own)).toHaveProperty('fault');
    expect(planUndo(deployment({ 'devloop.dev/replicas': '2' }), own)).toMatchObject({
      fields: [{ path: ['spec', 'replicas'], now: 0, to: 2 }],
    });
  });

  it('never throws, whatever it is', () => {
    const part = fc.oneof(fc.constantFrom('spec', 'selector', 'v', 'fields', 'path', 'before'), fc.string());
    const value = fc.oneof(
      fc.json(),
      fc.array(part).map((names) => naming({ path: names, before: names })),
    );
    fc.assert(
      fc.property(value, (text) => {
        const plan = planUndo(withUndo(text), SELECTOR);
        expect('fault' in plan).toBe(true);
      }),
    );
  });
});
