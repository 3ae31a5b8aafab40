import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildProgram, removeProgram } from '../../../src/controller/programs.ts';
import { directoryWith } from './support/places.ts';

const NEVER = new AbortController().signal;

/** As the go tool does, it leaves alone a program that is up to date. */
const BUILD = ['sh', '-c', '[ -e "$2" ] || echo program > "$2"', 'sh', '-o'];

test('of all sessions one kept program stays, also when nothing had to be built', async () => {
  const cache = await directoryWith();
  for (const session of ['first', 'second', 'third']) {
    const state = await directoryWith({ [session]: '' });
    const binary = join(state, 'controller');
    const built = await buildProgram(
      {
        cwd: state,
        build: [...BUILD, binary],
        run: [binary],
        stateFile: join(state, 'controller.json'),
        keptProgram: join(cache, 'kept'),
      },
      0,
      NEVER,
    );
    expect(built.ok).toBe(true);
    await removeProgram(built.program);
    expect(await readdir(cache)).toEqual(['kept']);
  }
});
