import { expect, test } from 'vitest';
import { nodeCommand } from '../../../../src/checkout/node/command.ts';

test.each<[string, object | undefined]>([
  ['node dist/main.js --port=1', { is: 'file', options: [], file: 'dist/main.js', args: ['--port=1'] }],
  [
    '/usr/local/bin/node --max-old-space-size=64 -r ./hook.js main.mjs',
    { is: 'file', options: ['--max-old-space-size=64', '-r', './hook.js'], file: 'main.mjs', args: [] },
  ],
  ['tini -- docker-entrypoint.sh node main.js', { is: 'file', options: [], file: 'main.js', args: [] }],
  ['main.js serve', { is: 'file', options: [], file: 'main.js', args: ['serve'] }],
  ['npm start', { is: 'script', script: 'start', args: [] }],
  ['npm --silent run serve -- --port=1', { is: 'script', script: 'serve', args: ['--port=1'] }],
  ['yarn serve --port=1', { is: 'script', script: 'serve', args: ['--port=1'] }],
  ['pnpm exec tsx src/main.ts', { is: 'program', program: 'tsx', args: ['src/main.ts'] }],
  ['yarn node main.js', { is: 'file', options: [], file: 'main.js', args: [] }],
  ['node --version', undefined],
  ['', undefined],
])('what `%s` starts', (line, expected) => {
  expect(nodeCommand(line.split(' ').filter(Boolean))).toEqual(expected);
});

test('of a shell, only one plain command is taken', () => {
  expect(nodeCommand(['sh', '-c', 'exec node main.js --a'])).toMatchObject({
    file: 'main.js',
    args: ['--a'],
  });
  expect(nodeCommand(['sh', '-c', 'migrate && node main.js'])).toMatchObject({
    is: 'program',
    program: 'sh',
  });
});
