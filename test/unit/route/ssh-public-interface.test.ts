import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../../src/route/ssh');

/** ssh2 begins the names of private fields with an underscore. The types do not contain them, so code that uses one needs a cast. */
const PRIVATE = /\._[a-z]|^ *_[a-z]\w*:|as unknown as|Reflect\./m;

it('uses private fields of ssh2 in one file only', () => {
  const files = globSync('*.ts', { cwd: FOLDER }).filter((file) =>
    PRIVATE.test(readFileSync(join(FOLDER, file), 'utf8')),
  );
  expect(files.map((file) => basename(file))).toEqual(['ssh2-workaround.ts']);
});
