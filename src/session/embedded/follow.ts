import { join } from 'node:path';
import { sleep } from '../../async.ts';
import { watchDirectories } from '../../controller/watch/directories.ts';
import { messageOf } from '../../errors.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Io } from '../context/options.ts';
import type { CheckoutManifests } from './checkout-manifests.ts';
import type { Installation } from './install.ts';
import type { Rendered } from './render.ts';

/** The files that one command writes, such as `make manifests`, are read together. */
const SETTLE_MS = 300;

export interface Following extends AsyncDisposable {
  /** Sees the events of the session: each build begins with changed code. */
  observe(event: DevloopEvent): void;
}

interface Followed {
  root: string;
  manifests: CheckoutManifests;
  rendered: Rendered;
  installation: Installation;
}

/** Keeps the session's own API server as the checkout declares it: after each save of a manifest, and of code from which manifests are generated. */
export async function followCheckout(
  { root, manifests, rendered, installation }: Followed,
  { emit, signal: ending }: Pick<Io, 'emit' | 'signal'>,
): Promise<Following> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ending, ended.signal]);
  let running = Promise.resolve();
  /** What the last generation failed with, which also fails the build if the code does not compile. */
  let notGenerated: string | undefined;

  async function update(isDue: () => Promise<boolean>): Promise<void> {
    try {
      if (signal.aborted || !(await isDue())) return;
      const { objects } = await manifests.render(signal);
      const changed = await installation.update(objects);
      if (changed.length > 0) emit(notice('manifests.updated', { objects: changed }));
    } catch (error) {
      // The session goes on, whatever is in a file of the checkout.
      if (!signal.aborted) emit(notice('manifests.not-updated', { cause: messageOf(error) }));
    }
  }

  const generated = async (): Promise<boolean> => {
    notGenerated = undefined;
    return await manifests.regenerate(signal).catch((error: unknown) => {
      if (!signal.aborted) notGenerated = messageOf(error);
      return false;
    });
  };
  const next = (isDue: () => Promise<boolean>): void => {
    running = running.then(() => update(isDue));
  };
  const notFollowed = (cause: string, next?: string): void => emit(notice('watch.failed', { cause, next }));
  let isWaiting = false;
  const onPath = async (): Promise<void> => {
    if (isWaiting) return;
    isWaiting = true;
    const isOver = !(await sleep(SETTLE_MS, signal));
    isWaiting = false;
    if (!isOver) next(async () => true);
  };
  const watched = await watchDirectories(
    {
      directories: rendered.watched.map((place) => join(root, place)),
      recursive: true,
      isOutside: () => false,
    },
    { onPath: () => void onPath(), onBack: () => void onPath(), onError: notFollowed },
    signal,
  );
  return {
    observe({ type }) {
      if (type === 'build.started') next(generated);
      if (type === 'build.done')
        void running.then(() => {
          if (notGenerated !== undefined) emit(notice('manifests.not-updated', { cause: notGenerated }));
          notGenerated = undefined;
        });
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await watched[Symbol.asyncDispose]();
      await running;
    },
  };
}
