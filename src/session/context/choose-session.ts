import { DevloopError } from '../../errors.ts';
import type { LocalSession } from './session-directories.ts';

/** The one that was named, the one of this checkout, or the only one on this machine. Throws 'session.not-found'. */
export function chooseSession(
  all: LocalSession[],
  checkout: string,
  { wanted, otherwise }: { wanted: string | undefined; otherwise?: string },
): LocalSession {
  const here = all.filter((one) => one.checkout === checkout);
  const candidates =
    wanted !== undefined ? all.filter(({ id }) => id === wanted) : here.length > 0 ? here : all;
  if (candidates.length === 1) return candidates[0]!;
  const list = `One of these with --session:${all.map(({ id, checkout: root }) => `\n  ${id}  ${root}`).join('')}`;
  if (candidates.length > 1)
    throw new DevloopError('session.not-found', 'Several sessions run on this machine.', { hint: list });
  const none =
    wanted === undefined ? 'No session runs on this machine.' : `No session ${wanted} runs on this machine.`;
  const start = ['Start one with devloop up.', otherwise].filter(Boolean).join(' ');
  throw new DevloopError('session.not-found', none, {
    hint: all.length > 0 ? list : start,
  });
}
