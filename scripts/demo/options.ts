import { parseArgs } from 'node:util';
import { Refusal } from './stage.ts';

export interface DemoOptions {
  keep: boolean;
  stop: boolean;
  help: boolean;
  context: string | undefined;
}

export const USAGE = `npm run demo [-- options]

  (none)           in a throw-away Kubernetes on this machine (Linux, root, Go)
  --keep           leave cluster and checkout up afterwards, to try things
  --stop           end what --keep left
  --context NAME   in a cluster of yours, of this context of your kubeconfig`;

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
