import { expect, test } from 'vitest';
import { containerArguments } from '../../../src/local/container-arguments.ts';
import type { Target } from '../../../src/operator/target.ts';
import { partly } from '../../support/partly.ts';
import { recordEvents } from '../controller/support/events.ts';

const PLAIN = { entrypoint: ['/manager'], cmd: [] };
const BY_CMD = { entrypoint: [], cmd: ['manager', 'serve', '-v=4'] };
const SERVE = { entrypoint: ['/manager', 'serve'], cmd: ['--b'] };

test.each<
  [
    string,
    { entrypoint: string[]; cmd: string[] } | undefined,
    { command?: string[]; args?: string[] },
    { own: string[]; ofImage?: string },
  ]
>([
  ['its ENTRYPOINT and the arguments', SERVE, { args: ['--a'] }, { own: ['serve', '--a'], ofImage: 'serve' }],
  ['its ENTRYPOINT and CMD', SERVE, {}, { own: ['serve', '--b'], ofImage: 'serve --b' }],
  ['the container alone', SERVE, { command: ['/manager'] }, { own: [] }],
  ['the container alone, with arguments', SERVE, { command: ['/manager'], args: ['--a'] }, { own: ['--a'] }],
  ['an empty command', SERVE, { command: [], args: [] }, { own: ['serve', '--b'], ofImage: 'serve --b' }],
  ['an ENTRYPOINT without more', PLAIN, { args: ['--a'] }, { own: ['--a'] }],
  ['its CMD alone', BY_CMD, {}, { own: ['serve', '-v=4'], ofImage: 'serve -v=4' }],
  ['arguments in place of its CMD', BY_CMD, { args: ['/manager', '--a', '--b'] }, { own: ['--a', '--b'] }],
  ['an image that is not known', undefined, { args: ['--a'] }, { own: ['--a'] }],
  [
    'an init of the image',
    { entrypoint: ['/sbin/tini', '--', '/manager', 'serve'], cmd: [] },
    { args: ['--a'] },
    { own: ['serve', '--a'], ofImage: 'serve' },
  ],
])('the words that a program gets by %s', (_, command, container, { own, ofImage }) => {
  const target = partly<Target>({
    manager: { container: { name: 'manager', ...container }, object: { spec: { template: { spec: {} } } } },
  });
  const { all, emit } = recordEvents();
  const image = command && { ...command, source: 'Dockerfile' };
  expect(containerArguments(target, image, emit)).toEqual(own);
  const values = { words: ofImage?.split(' '), source: 'Dockerfile' };
  expect(all('note')).toMatchObject(ofImage === undefined ? [] : [{ code: 'arguments.of-image', values }]);
});

test('what the program itself does not get is not said to be added', () => {
  const target = partly<Target>({
    manager: { container: { name: 'manager' }, object: { spec: { template: { spec: {} } } } },
  });
  const said = (cmd: string[], argumentsIn: (words: string[]) => string[]) => {
    const { all, emit } = recordEvents();
    containerArguments(target, { entrypoint: [], cmd, source: 'Dockerfile' }, emit, argumentsIn);
    return all('note');
  };
  expect(said(['npm', 'start'], () => [])).toEqual([]);
  const values = { words: ['run', '-A'], source: 'Dockerfile' };
  const mapped = said(['kopf', 'run', '-A', '/src/a.py'], ([run = '', all = '']) => [run, all, '/home/a.py']);
  expect(mapped).toMatchObject([{ values }]);
});
