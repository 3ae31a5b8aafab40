import { expect, it } from 'vitest';
import { ARGUMENTS, cursorIn, OPTIONS } from '../../../src/cli/cursor.ts';
import { createProgram } from '../../../src/cli/program.ts';

const program = createProgram({ name: 'devloop', version: '', write() {}, run: async () => {} });

it.each([
  ['up --context |', { live: 'context', typed: '', before: '' }],
  ['up --context=ki|', { live: 'context', typed: 'ki', before: '--context=' }],
  ['--json up --context |', { live: 'context' }],
  ['up -n |', { live: 'namespace' }],
  ['up -n shop --service w|', { live: 'service', typed: 'w', given: { namespace: 'shop' } }],
  ['test --deployment |', { live: 'workload' }],
  ['up --also-pause |', { live: 'deployment' }],
  ['reviews --session |', { live: 'session' }],
  ['reviews --session 3f show |', { live: 'review', given: { session: '3f' } }],
  ['reviews show 41 |', { live: 'review' }],
  ['reviews save |', { live: 'set' }],
  ['reviews save web |', { live: 'review' }],
  ['reviews verify |', { live: 'set' }],
  ['reviews --set |', { live: 'set' }],
  ['calls |', { live: 'call', words: [['show'], ['export']] }],
  ['reconciles show |', { live: 'reconcile' }],
  ['fault clear |', { live: 'fault' }],
  // The API server of a session can be another one than that of the context.
  ['reviews --namespace |', { live: undefined, words: [] }],
  ['fault add |', { words: expect.arrayContaining([['--json', expect.any(String)]]) }],
  ['up --route ssh:|', { live: 'sshHost' }],
  ['up --pause |', { words: [['auto'], ['lease'], ['none']] }],
  ['up --kubeconfig |', { isFile: true, words: [] }],
  ['completion |', { words: [['bash'], ['zsh'], ['fish']] }],
  ['nothing |', { words: [] }],
])('%s', (line, expected) => {
  expect(cursorIn(line.slice(0, -1).split(' '), program)).toMatchObject(expected);
});

it('knows no option and no argument that no command has', () => {
  const options = program.commands.flatMap(({ options }) => options.map((one) => one.name()));
  expect(Object.keys(OPTIONS).filter((name) => !options.includes(name))).toEqual([]);
  const commands = program.commands.map((one) => one.name());
  expect(Object.keys(ARGUMENTS).filter((name) => !commands.includes(name.split(' ')[0]!))).toEqual([]);
});
