import { expect, test } from 'vitest';
import { foreignWord, moduleIn, pythonCommand } from '../../../../src/checkout/python/command.ts';

test.each<[string[], [string, ...string[]] | undefined]>([
  [
    ['kopf', 'run', '/app/main.py', '--verbose'],
    ['kopf', 'run', '/app/main.py', '--verbose'],
  ],
  [
    ['/usr/local/bin/python3.13', '-m', 'shop'],
    ['python', '-m', 'shop'],
  ],
  [['/app/main.py'], ['python', '/app/main.py']],
  [
    ['uv', 'run', '--frozen', 'kopf', 'run', 'main.py'],
    ['kopf', 'run', 'main.py'],
  ],
  [
    ['poetry', 'run', 'shop-operator', '--level=1'],
    ['shop-operator', '--level=1'],
  ],
  [
    ['tini', '--', 'python', 'main.py'],
    ['python', 'main.py'],
  ],
  [
    ['sh', '-c', 'exec kopf run main.py'],
    ['kopf', 'run', 'main.py'],
  ],
  [
    ['env', 'LEVEL=debug', 'kopf', 'run', 'main.py'],
    ['kopf', 'run', 'main.py'],
  ],
  [
    ['sh', '-c', 'kopf run $FILE'],
    ['kopf', 'run', '$(FILE)'],
  ],
  [['sh', '-c', 'prepare; kopf run main.py'], undefined],
  [['sh', '/entry.sh'], undefined],
  [['uv', 'sync'], undefined],
  [[], undefined],
])('%j starts %j', (words, expected) => {
  const [program, ...rest] = expected ?? [];
  expect(pythonCommand(words)).toEqual(expected && { program, words: rest });
});

test('a module is named by -m', () => {
  expect(moduleIn(['run', '-A', '-m', 'shop.main'])).toBe('shop.main');
  expect(moduleIn(['run', 'main.py'])).toBeUndefined();
});

const OWN = {
  hasFile: (word: string) => word === 'main.py',
  hasModule: (name: string) => name === 'shop',
  scripts: new Set(['shop-operator']),
};

test.each([
  'kopf run -A --verbose -n shop -L http://0.0.0.0:8080/healthz main.py',
  'kopf run -m shop --log-format=full',
  'python -u main.py -c anything',
  'python -m shop --file /etc/shop',
  'python -m kopf run main.py',
  'shop-operator --any',
  'main.py serve',
])('what runs the code of the checkout is started: %s', (line) => {
  expect(foreignWord(pythonCommand(line.split(' '))!, OWN)).toBeUndefined();
});

test.each([
  ['python -c print(1)', '-c'],
  ['python -uc print(1)', '-uc'],
  ['python -X importtime main.py', '-X'],
  ['python /elsewhere.py', '/elsewhere.py'],
  ['python -m http.server', '-m http.server'],
  ['python', ''],
  ['kopf run main.py /elsewhere.py', '/elsewhere.py'],
  ['kopf run -m os', '-m os'],
  ['kopf run --module=os main.py', '--module=os os'],
  ['kopf run --$(ANY) main.py', '--$(ANY)'],
  ['kopf freeze', 'freeze'],
  ['curl http://example.com', 'curl'],
  ['uv run rm -rf /', 'rm'],
])('whoever edits the Deployment cannot run other code: %s', (line, word) => {
  expect(foreignWord(pythonCommand(line.split(' '))!, OWN)).toBe(word);
});
