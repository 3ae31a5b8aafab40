import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { nodeCommand } from '../../../../src/checkout/node/command.ts';
import { foreignWord } from '../../../../src/checkout/node/foreign.ts';
import { nodeProgram } from '../../../../src/checkout/node/program.ts';
import { directoryWith } from '../../controller/support/places.ts';

const OWN = {
  ...{
    directory: '/shop',
    name: '@acme/shop',
    scripts: {},
    main: undefined,
    bin: 'main.js',
    node: undefined,
  },
  dependencies: { 'reflect-metadata': '1' },
  devDependencies: { tsx: '4', '@swc-node/register': '1' },
};
const foreign = (line: string): string | undefined =>
  foreignWord(nodeCommand(line.split(' '))!, [OWN], (word) => word === 'main.js');

test.each([
  'node --enable-source-maps --max-old-space-size=512 main.js --eval=anything',
  'node --import tsx main.js',
  'node -r reflect-metadata main.js',
  'node --import=@swc-node/register/esm-register main.js',
  'tsx main.js -e anything',
  'shop --any',
  'npm run serve -- --any',
])('what runs the code of the checkout is started: %s', (line) => {
  expect(foreign(line)).toBeUndefined();
});

test.each([
  ['node --eval=print() main.js', '--eval=print()'],
  ['node --import=data:text/javascript,x main.js', '--import=data:text/javascript,x data:text/javascript,x'],
  ['node --require /elsewhere.js main.js', '--require /elsewhere.js'],
  ['node --require tsx/../../elsewhere.js main.js', '--require tsx/../../elsewhere.js'],
  ['node --inspect=0.0.0.0:9229 main.js', '--inspect=0.0.0.0:9229'],
  ['tsx -e print()', 'tsx -e'],
  ['tsx other.js', 'tsx other.js'],
  ['curl http://example.com', 'curl http://example.com'],
])('whoever edits the Deployment cannot run other code: %s', (line, word) => {
  expect(foreign(line)).toBe(word);
});

const PACKAGE = JSON.stringify({
  dependencies: { '@kubernetes/client-node': '1' },
  scripts: { start: 'node main.js' },
});

test('words that run other code are an error, also if they come later', async () => {
  const root = await directoryWith({ 'package.json': PACKAGE, 'main.js': '' });
  const refused = { code: 'controller.argument' };
  const command = ['node', '--eval=print()', 'main.js'];
  await expect(nodeProgram(new Checkout(root), { directory: '/state', command })).rejects.toMatchObject(
    refused,
  );
  const { argumentsIn } = await nodeProgram(new Checkout(root), {
    directory: '/state',
    command: ['node', 'main.js'],
  });
  expect(() => argumentsIn!(command.slice(1))).toThrow(expect.objectContaining(refused));
});

test('a path that leads out of the checkout, or the name of no script, starts nothing', async () => {
  const root = await directoryWith({ 'shop/package.json': PACKAGE, 'shop/main.js': '', 'elsewhere.js': '' });
  for (const command of [
    ['node', '/app/../elsewhere.js'],
    ['npm', 'run', 'toString'],
  ]) {
    const { source } = await nodeProgram(new Checkout(`${root}/shop`), { directory: '/state', command });
    expect(source).toBe('scripts.start in package.json');
  }
});

test('a file that another program starts is named as it is here', async () => {
  const root = await directoryWith({
    'package.json': JSON.stringify({ dependencies: { '@kubernetes/client-node': '1' } }),
    'src/main.ts': '',
    'node_modules/.bin/tsx': '',
  });
  const command = ['tsx', '/app/src/main.ts'];
  const { run, argumentsIn } = await nodeProgram(new Checkout(root), { directory: '/state', command });
  expect([run[0], ...argumentsIn!(command.slice(1))]).toEqual(['tsx', `${root}/src/main.ts`]);
});
