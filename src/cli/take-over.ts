import type { Command } from 'commander';
import type { Given } from '../config/table.ts';
import type { Io, UpOptions } from '../session/context/options.ts';
import type { Guest } from '../session/running.ts';
import {
  addTrustFlag,
  type CommonFlags,
  commonOptions,
  present,
  requireFittingPause,
  type TrustFlags,
} from './common.ts';
import { FLAG_GROUPS } from './flag-groups.ts';
import type { OF_A_CLUSTER } from './next-commands.ts';
import { invalid } from './usage.ts';

/** The flags of every command that takes an operator over. */
export interface TakeOverFlags extends CommonFlags, TrustFlags {
  yes?: true;
  webhooks: boolean;
  takeOver?: true;
  adopt?: true;
  embedded?: true;
}

export const EMBEDDED = [
  '--embedded',
  'without a cluster: in an API server of its own on this machine, with what the checkout would deploy',
] as const;

/** Adds the flags for what is taken over, and where. */
export function addTakeOverFlags(command: Command): Command {
  command
    .optionsGroup(FLAG_GROUPS.takeOver)
    .option('--yes', 'change a cluster without asking that devloop has not changed before from this machine')
    .option(...EMBEDDED)
    .option('--take-over', 'take over even if a live session holds the operator')
    .option(
      '--adopt',
      'also take over a webhook Service without a selector, and restore its hand-made endpoints at the end',
    );
  return addTrustFlag(command)
    .optionsGroup(FLAG_GROUPS.controller)
    .option('--no-webhooks', 'run a program without webhooks, even if nothing in the cluster matches it');
}

type TakeOverOptions = Pick<
  UpOptions,
  'given' | 'kubeconfig' | 'trustAccounts' | 'yes' | 'webhooks' | 'takeOver' | 'adopt'
>;

/** `typed`: the command, such as `devloop up`. Throws 'usage.invalid' for flags that contradict each other. */
export function takeOverOptions(flags: TakeOverFlags, given: Given, typed: string): TakeOverOptions {
  const { yes = false, webhooks, takeOver = false, adopt = false, trustAccount: trustAccounts } = flags;
  requireFittingPause(given, typed);
  return { ...commonOptions(flags, given), ...present({ trustAccounts }), yes, webhooks, takeOver, adopt };
}

/** Runs `up --embedded`, for itself or as the host of a guest. `typed`: the command without them. Throws 'usage.invalid' if other flags name a cluster. */
export async function embedded(
  options: UpOptions,
  flags: Pick<TakeOverFlags, 'kubeconfig'> & { dryRun?: true; deployments?: string[]; typed: string },
  io: Io,
  guest?: Guest,
): Promise<void> {
  const refused: Record<(typeof OF_A_CLUSTER)[number] | 'several --deployment flags', unknown> = {
    '--dry-run': flags.dryRun,
    '--kubeconfig': flags.kubeconfig,
    '--context': options.given.context,
    '--route': options.given.route,
    'several --deployment flags': (flags.deployments ?? []).length > 1 || undefined,
  };
  const other = Object.entries(refused).find(([, value]) => value !== undefined);
  if (other) throw invalid(`--embedded and ${other[0]} cannot be combined.`, flags.typed);
  const { upEmbedded } = await import('../session/embedded.ts');
  await upEmbedded(options, io, guest);
}
