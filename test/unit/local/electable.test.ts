import { expect, test } from 'vitest';
import { noCheckoutFacts } from '../../../src/checkout/facts.ts';
import { Checkout } from '../../../src/checkout/files.ts';
import { GO } from '../../../src/checkout/go/go.ts';
import { type ControllerInputs, planController } from '../../../src/local/plan.ts';
import { canPlace } from '../../../src/machine/mount-namespace.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { controllerOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';
import { inputs } from './support/inputs.ts';

/** For a program that links this package, with leader election turned on in an argument, a variable and a file. */
async function planElecting(linked: string, rest: Partial<ControllerInputs>) {
  const directory = await directoryWith({
    'go.mod': 'module m\n\nrequire example.com/lib v0.0.0\nreplace example.com/lib => ./lib\n'.replaceAll(
      'example.com/lib',
      linked,
    ),
    'main.go': `package main\nimport _ "${linked}/leader"\nconst elects = "ENABLE_LEADER_ELECTION"\nfunc main() {}\n`,
    'lib/go.mod': `module ${linked}\n`,
    'lib/leader/leader.go': 'package leader\n',
  });
  const own = { checkout: new Checkout(directory), facts: { ...noCheckoutFacts(), language: GO } };
  const all = inputs({ settings: controllerOf({ package: '.' }), ...own, ...rest });
  const cluster = fakeCluster();
  cluster.put('ConfigMap', { metadata: { name: 'c', namespace: 'shop' }, data: ELECTING });
  all.api = cluster.api;
  const manager = all.target.manager!;
  const { spec } = manager.object.spec.template;
  spec.volumes = [{ name: 'config', configMap: { name: 'c' } }];
  manager.container.volumeMounts = [{ name: 'config', mountPath: '/config' }];
  manager.container.args = ['--leader-elect', '--config=/config/shop.yaml'];
  manager.container.env = [{ name: 'ENABLE_LEADER_ELECTION', value: 'true' }];
  const { plan, needed } = await planController(all, {
    emit: () => {},
    signal: new AbortController().signal,
  });
  const file = String(needed.find(({ files }) => 'shop.yaml' in files)?.files['shop.yaml']);
  return { argument: plan.run[2], variable: plan.env.ENABLE_LEADER_ELECTION, file };
}

const ELECTING = { 'shop.yaml': 'leaderElection: true\n' };
const LIBRARY = 'github.com/operator-framework/operator-lib';
const ELECTION_ON = { argument: '--leader-elect', variable: 'true', file: ELECTING['shop.yaml'] };
const OFF = { argument: '--leader-elect=false', variable: 'false', file: 'leaderElection: false\n' };

test.runIf(await canPlace())(
  'leader election stays on where the leader is a Pod, and one stands in for it',
  async () => {
    expect(await planElecting(LIBRARY, { standIn: 'shop-devloop-s1' })).toEqual(ELECTION_ON);
  },
);

test.each<[string, string, Partial<ControllerInputs>]>([
  ['no Pod stands in for it', LIBRARY, {}],
  ['the leader is no Pod', 'example.com/lib', { standIn: 'shop-devloop-s1' }],
])('leader election is turned off where %s', async (_, linked, rest) => {
  expect(await planElecting(linked, rest)).toEqual(OFF);
});
