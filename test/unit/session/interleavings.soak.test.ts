/** Sessions, Kubernetes' controllers and others work on the same objects; fast-check's scheduler chooses the order of the calls. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { startControllers } from '../../support/interleaving/controllers.ts';
import { drive } from '../../support/interleaving/drive.ts';
import { differencesOf, install, states } from '../../support/interleaving/states.ts';
import { bugsIn, people, type Story, tell } from '../../support/interleaving/story.ts';
import { createWorld } from '../../support/interleaving/world.ts';
import { checkAsyncProperty } from '../../support/repeat.ts';

const stories = fc.record({ state: states, all: people, isSlow: fc.boolean(), scheduler: fc.scheduler() });

it('whatever the order, all is as if devloop had not been there, or it says what is not', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  let served = 0;
  const property = fc.asyncProperty(stories, async ({ state, all, isSlow, scheduler }) => {
    const world = createWorld(scheduler, isSlow);
    const story: Story = { world, sessions: [], failures: [] };
    await drive(scheduler, world, async () => {
      await install(world, state);
      startControllers(world);
      world.beginToWitness();
      await tell(story, all);
    });
    served += story.sessions.filter(({ hasServed }) => hasServed).length;
    expect(bugsIn(story.failures)).toEqual([]);
    expect(world.faults).toEqual([]);
    expect(await differencesOf(world)).toEqual([]);
    expect(unhandled).toEqual([]);
  });
  process.on('unhandledRejection', note);
  try {
    await checkAsyncProperty(
      'interleavings of sessions, controllers and others',
      { soak: 2_000, quick: 25 },
      property,
    );
  } finally {
    process.off('unhandledRejection', note);
  }
  // Otherwise, no two of them would have met.
  expect(served).toBeGreaterThan(0);
});
