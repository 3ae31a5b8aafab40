import { DevloopError } from '../../errors.ts';
import { checkoutRoot } from './checkout.ts';
import { thisMachine } from './local-machine.ts';
import { type LocalSession, withCrashed } from './local-sessions.ts';
import type { CommonOptions, Io } from './options.ts';

/** The session of this checkout that has an API server of its own, running or crashed; undefined if flags name another cluster, or something in it. */
export async function embeddedHere(
  { given, kubeconfig }: CommonOptions,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<LocalSession | undefined> {
  if (kubeconfig !== undefined || Object.keys(given).length > 0) return undefined;
  const here = await checkoutRoot(cwd);
  const all = await withCrashed(await thisMachine(env));
  const own = all.filter(({ checkout, embedded }) => checkout === here && embedded !== undefined);
  return own.find(({ hasCrashed }) => !hasCrashed) ?? own[0];
}

/** The options for the API server of the session of this checkout, if that has one of its own. Throws 'embedded.ended' if it has crashed. */
export async function inEmbedded<O extends CommonOptions>(
  options: O,
  io: Pick<Io, 'cwd' | 'env'>,
): Promise<O> {
  const { embedded, hasCrashed, id } = (await embeddedHere(options, io)) ?? {};
  if (embedded === undefined) return options;
  if (hasCrashed) {
    const message = `Session ${id} of \`up --embedded\` was killed. What it has left running is not ended yet.`;
    throw new DevloopError('embedded.ended', message, { hint: 'devloop down' });
  }
  return { ...options, kubeconfig: embedded.kubeconfig, given: { context: embedded.context } };
}
