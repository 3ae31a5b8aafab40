import { expect, it } from 'vitest';
import type { Container, Workload } from '../../../../src/cluster/api/workloads.ts';
import { templateChanges } from '../../../../src/session/guard/template.ts';

const deployment = (container: Partial<Container>, replicas = 1): Workload => ({
  metadata: { name: 'manager' },
  spec: {
    replicas,
    selector: {},
    template: {
      spec: {
        containers: [
          { name: 'sidecar', image: 'x' },
          { name: 'manager', image: 'a', ...container },
        ],
      },
    },
  },
});

const changes = (before: Partial<Container>, now: Partial<Container>) =>
  templateChanges(deployment(before), deployment(now), 'manager');

it('replicas and other containers are not the program', () => {
  const now = deployment({}, 0);
  now.spec.template.spec.containers[0]!.image = 'y';
  expect(templateChanges(deployment({}), now, 'manager')).toBeUndefined();
});

it('another image alone does not change how the controller runs here', () => {
  expect(changes({ image: 'a' }, { image: 'b' })).toEqual({
    lines: ['image a -> b'],
    affectsController: false,
  });
});

it('arguments are named, values of variables are not', () => {
  const before = {
    args: ['--a', '--b=1'],
    env: [
      { name: 'KEPT', value: '1' },
      { name: 'TOKEN', value: 'old' },
    ],
  };
  const now = {
    args: ['--a', '--b=2'],
    env: [
      { name: 'KEPT', value: '1' },
      { name: 'TOKEN', value: 'new' },
      { name: 'MORE', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    ],
  };
  expect(changes(before, now)).toEqual({
    lines: ['args: --b=1 removed, --b=2 added', 'env: TOKEN, MORE'],
    affectsController: true,
  });
});

it('the order of arguments counts, and mounted files do', () => {
  expect(changes({ args: ['a', 'b'] }, { args: ['b', 'a'] })?.affectsController).toBe(true);
  expect(changes({}, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })?.lines).toEqual(['volumes']);
  expect(changes({}, { envFrom: [{ configMapRef: { name: 'c' } }] })?.lines).toEqual(['env: envFrom']);
});
