import { parseArgs } from 'node:util';
import { Refusal } from './stage.ts';

export interface DemoOptions {
  keep: boolean;
  stop: boolean;
  help: boolean;
  context: string | undefined;
}

export const USAGE = `npm run demo [-- options]

  (none)           run in a temporary Kubernetes cluster on this machine (Linux, root, Go)
  --keep           keep the cluster and the checkout afterwards, to try things
  --stop           end what --keep left running
  --context NAME   run in a cluster of yours, by its context in your kubeconfig`;

export function parseOptions(args: string[]): DemoOptions {
  try {
    const { values } = parseArgs({
      args,
      options: {
        keep: { type: 'boolean', default: false },
        stop: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        context: { type: 'string' },
      },
    });
    return { ...values, context: values.context };
  } catch (error) {
    throw new Refusal(`${(error as Error).message}\n\n${USAGE}`);
  }
}
