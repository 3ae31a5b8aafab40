import { expect, it } from 'vitest';
import { clusterHosts, noteClusterHosts } from '../../../src/local/cluster-hosts.ts';
import type { Target } from '../../../src/operator/target.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { partly } from '../../support/partly.ts';

const args = [
  '--otlp-endpoint=http://collector.monitoring.svc:4317/v1',
  '--store',
  'postgres://ann:secret@db.shop.svc.cluster.local/app',
  'cache.shop.svc',
];

it('finds the Services that arguments and variables name as hosts', () => {
  const variables = {
    STORE: 'db.shop.svc.cluster.local:5432,other',
    MODE: 'svc',
    FILE: '/etc/a.b.svc-old/x',
  };
  expect([...clusterHosts({ args, variables })].map(([host, by]) => [host, ...by])).toEqual([
    ['collector.monitoring.svc', '--otlp-endpoint'],
    ['db.shop.svc.cluster.local', '--store', 'STORE'],
    ['cache.shop.svc', 'an argument'],
  ]);
});

it('names them in one note, without the rest of the values, and without the webhook Services', () => {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const target = partly<Target>({ services: [{ serverName: 'hook.shop.svc' }] });
  noteClusterHosts({ args: ['--dns-name=hook.shop.svc.cluster.local'], variables: {} }, target, emit);
  expect(events).toEqual([]);
  noteClusterHosts({ args: args.slice(1, 3), variables: {} }, target, emit);
  const hosts = [{ host: 'db.shop.svc.cluster.local', settings: ['--store'] }];
  expect(events).toMatchObject([{ code: 'hosts.of-cluster', values: { hosts } }]);
});
