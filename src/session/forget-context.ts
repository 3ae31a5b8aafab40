import { loadKubeconfig } from '../cluster/api/kubeconfig.ts';
import { DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import { notice } from '../report/notices/catalogue.ts';
import { similarNames } from '../similar.ts';
import { agreements, forget } from './context/agreed.ts';
import { thisMachine } from './context/local-machine.ts';
import type { Io } from './context/options.ts';

/**
 * Forgets what the user has agreed to in the clusters that had this context. Needs no cluster, because the cluster may be gone. Throws
 * 'context.unknown' if nothing is remembered about the context.
 */
export async function forgetContext(
  { name, kubeconfig }: { name?: string; kubeconfig?: string },
  { emit, env, cwd }: Io,
): Promise<void> {
  const machine = await thisMachine(env);
  const context = name ?? (await loadKubeconfig({ kubeconfig }, env, cwd)).current;
  const forgotten = await forget(machine, (one) => one.context === context);
  if (forgotten.length === 0)
    throw unknown(context, [...new Set(agreements(machine).map((one) => one.context))]);
  for (const { server, what } of forgotten)
    emit(notice('context.forgotten', { context, server, agreed: what }));
}

function unknown(context: string, known: string[]): DevloopError {
  const list =
    known.length > 0 ? `You have agreed in: ${known.join(', ')}.` : 'You have not agreed to anything yet.';
  return new DevloopError('context.unknown', `devloop remembers nothing about context ${context}. ${list}`, {
    hint: similarNames(context, known)
      .map((one) => `devloop context forget --context ${shellWord(one)}`)
      .join('\n'),
  });
}
