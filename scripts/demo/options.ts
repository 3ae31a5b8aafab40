import { parseArgs } from 'node:util';
import { Refusal } from './stage.ts';

export interface DemoOptions {
  keep: boolean;
  stop: boolean;
  help: boolean;
  cluster: boolean;
  context: string | undefined;
}

export const USAGE = `npm run demo [-- options]

  (none)           run with etcd and kube-apiserver alone (Linux, Go; not tried on macOS)
  --cluster        run in a temporary Kubernetes cluster on this machine (Debian or Ubuntu, root, Go)
  --context NAME   run in a cluster of yours, by its context in your kubeconfig
  --keep           with any of these: keep the checkout, and the cluster if there is one, to try things
  --stop           delete what --keep has kept, and list what else is on this machine`;

export function parseOptions(args: string[]): DemoOptions {
  try {
    const { values } = parseArgs({
      args,
      options: {
        keep: { type: 'boolean', default: false },
        stop: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        cluster: { type: 'boolean', default: false },
        context: { type: 'string' },
      },
    });
    if (values.cluster && values.context !== undefined)
      throw new Error('--cluster starts a cluster, and --context NAME uses one of yours.');
    return { ...values, context: values.context };
  } catch (error) {
    throw new Refusal(`${(error as Error).message}\n\n${USAGE}`);
  }
}
