import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith } from '../controller/support/places.ts';
import { runBin } from './run-bin.ts';

test('the built program extends a launch.json with comments', async () => {
  const before = '{\n  // mine\n  "version": "0.2.0",\n  "configurations": []\n}\n';
  const cwd = await directoryWith({ '.git/HEAD': '', '.vscode/launch.json': before });
  const { code, stderr } = runBin(['init', '--ide', 'vscode'], { cwd });
  expect(code, stderr).toBe(0);
  const after = await readFile(join(cwd, '.vscode/launch.json'), 'utf8');
  expect(after).toContain('// mine');
  expect(after).toContain('"name": "devloop: attach"');
});
