import { join } from 'node:path';
import { noCheckoutFacts } from '../../../../src/checkout/facts.ts';
import { Checkout } from '../../../../src/checkout/files.ts';
import type { Service } from '../../../../src/cluster/api/objects.ts';
import type { Container, Workload } from '../../../../src/cluster/api/workloads.ts';
import type { ControllerInputs } from '../../../../src/local/plan.ts';
import { fakeCluster } from '../../../support/fake-cluster.ts';
import { controllerOf } from '../../../support/settings.ts';

/** A checkout whose sources name the variables of the containers. */
export const CHECKOUT = join(import.meta.dirname, '../../../fixtures/local/checkout');

/** Where the manager's container finds its key pair. */
export const MOUNT = '/certs';

/** An operator whose container has a subcommand, arguments and a variable, and the user's own command that runs it. */
export function inputs(rest: Partial<ControllerInputs> = {}): ControllerInputs {
  const metadata = { name: 'shop', namespace: 'shop' };
  const container: Container = {
    name: 'manager',
    command: ['/manager', 'serve'],
    args: ['--leader-elect'],
    env: [{ name: 'LEVEL', value: 'info' }],
  };
  const object: Workload = {
    metadata,
    spec: { selector: {}, template: { spec: { containers: [container] } } },
  };
  const service: Service = { metadata: { ...metadata, name: 'hook' }, spec: {} };
  const ports = [{ name: '', port: 443, targetPort: 9443 }];
  return {
    api: fakeCluster().api,
    target: {
      services: [{ service, serverName: 'hook.shop.svc', calls: [], ports, source: '' }],
      manager: { ref: { kind: 'Deployment', ...metadata }, object, container, source: '' },
      namespace: 'shop',
    },
    checkout: new Checkout(CHECKOUT),
    facts: { ...noCheckoutFacts(), paths: new Set([MOUNT]) },
    settings: controllerOf({ run: ['./run'], env: { LEVEL: 'debug' } }),
    podName: 'shop-devloop-s1',
    env: { HOME: '/home/me' },
    files: { directory: '/state/s1', keyPairDirectory: '/state/s1/certs' },
    keyPairMounts: [MOUNT],
    stateFile: '/state/s1/controller.json',
    keptProgram: '/cache/program',
    ...rest,
  };
}
