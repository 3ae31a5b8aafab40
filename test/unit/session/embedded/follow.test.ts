import { expect, test } from 'vitest';
import type { CheckoutManifests } from '../../../../src/session/embedded/checkout-manifests.ts';
import { followCheckout } from '../../../../src/session/embedded/follow.ts';
import type { Installation } from '../../../../src/session/embedded/install.ts';
import { partly } from '../../../support/partly.ts';
import { directoryWith } from '../../controller/support/places.ts';

test('the end of the session ends what still generates manifests', async () => {
  const root = await directoryWith();
  const begun = Promise.withResolvers<void>();
  const regenerate = async (signal?: AbortSignal): Promise<boolean> => {
    begun.resolve();
    return await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error())));
  };
  const followed = {
    root,
    manifests: partly<CheckoutManifests>({ regenerate }),
    rendered: { objects: [], from: '', watched: [] },
    installation: partly<Installation>({}),
  };
  const codes: string[] = [];
  const following = await followCheckout(followed, {
    emit: (event) => void codes.push(event.type),
    signal: new AbortController().signal,
  });
  following.observe({ type: 'build.started', reason: [] });
  await begun.promise;
  await following[Symbol.asyncDispose]();
  expect(codes).toEqual([]);
});
