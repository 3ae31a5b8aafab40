import { checkoutRoot } from './checkout.ts';
import { thisMachine } from './local-machine.ts';
import { type LocalSession, localSessions } from './local-sessions.ts';
import type { CommonOptions, Io } from './options.ts';

/** The session of this checkout that has an API server of its own; undefined if flags name another cluster, or something in it. */
export async function embeddedHere(
  { given, kubeconfig }: CommonOptions,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<LocalSession | undefined> {
  if (kubeconfig !== undefined || Object.keys(given).length > 0) return undefined;
  const here = await checkoutRoot(cwd);
  const all = await localSessions(await thisMachine(env));
  return all.find(({ checkout, embedded }) => checkout === here && embedded !== undefined);
}

/** The options for the API server of the session of this checkout, if that has one of its own. */
export async function inEmbedded<O extends CommonOptions>(
  options: O,
  io: Pick<Io, 'cwd' | 'env'>,
): Promise<O> {
  const { embedded } = (await embeddedHere(options, io)) ?? {};
  if (embedded === undefined) return options;
  return { ...options, kubeconfig: embedded.kubeconfig, given: { context: embedded.context } };
}
