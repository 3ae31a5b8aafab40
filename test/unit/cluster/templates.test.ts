import { expect, it } from 'vitest';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';
import type { AdmissionRequest } from '../../../src/cluster/takeover/reviewed.ts';
import type { TakenObjects } from '../../../src/cluster/takeover/taken.ts';
import {
  agent,
  CONTROLLERS,
  judge,
  paused,
  podOfAgent,
  podOfSet,
  set,
  TAKEN,
  template,
  whereNow,
  workload,
} from '../../support/taken-operator.ts';

const evil = template('evil:1');

it.each<[string, AdmissionRequest, TakenObjects]>([
  ['the DaemonSet has a new template', podOfAgent('4'), whereNow(['DaemonSet shop/agent', agent('4', evil)])],
  [
    'the DaemonSet had another template, which somebody changed back',
    podOfAgent('4'),
    whereNow(['DaemonSet shop/agent', agent('5')]),
  ],
  [
    'the DaemonSet has another node selector',
    podOfAgent('4'),
    whereNow(['DaemonSet shop/agent', agent('4', paused('foo:1', { disk: 'ssd' }))]),
  ],
  [
    'the StatefulSet has a new template',
    podOfSet('set-1'),
    whereNow(['StatefulSet shop/set', set('set-1', 'evil:1')]),
  ],
  [
    'the StatefulSet had another template, which somebody changed back',
    podOfSet('set-2'),
    whereNow(['StatefulSet shop/set', set('set-2')]),
  ],
  [
    'another StatefulSet has its name',
    podOfSet('set-1'),
    whereNow(['StatefulSet shop/set', workload('set', 'new-uid')]),
  ],
  ['the StatefulSet cannot be read', podOfSet('set-1'), { ...TAKEN, read: async () => undefined }],
])('a new Pod is none where %s', async (_, one, taken) => {
  for (const userInfo of [...CONTROLLERS, { username: 'ann' }])
    expect(await judge({ ...one, userInfo }, ['ann'], taken)).toBe('other');
});

it('a Pod is a consequence where a new version was deployed before devloop began to answer', async () => {
  const [service, deployment, daemonSet, statefulSet] = TAKEN.objects as TakenObjects['objects'];
  const now = [agent('4', template('foo:2')), set('set-2', 'foo:2')] as KubeObject[];
  const objects = [
    ...[service!, deployment!],
    ...[
      { ...daemonSet!, now: now[0] },
      { ...statefulSet!, now: now[1] },
    ],
  ];
  const taken = {
    ...whereNow(['DaemonSet shop/agent', now[0]], ['StatefulSet shop/set', now[1]]),
    objects,
  };
  for (const one of [podOfAgent('4'), podOfSet('set-2')])
    expect(await judge(one, [], taken)).toBe('consequence');
});
