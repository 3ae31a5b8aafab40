import { expect, test } from 'vitest';
import { preflight } from '../../../../src/checkout/go/preflight.ts';
import { directoryWith } from '../../controller/support/places.ts';

const MAIN = 'package main\n\nimport _ "example.org/missing"\n\nfunc main() {}\n';
const module = (...lines: string[]): string =>
  ['module example.com/shop', 'go 1.24', ...lines, ''].join('\n\n');
const REQUIRED = 'require example.org/missing v1.0.0';

async function check(files: Record<string, string>) {
  const directory = await directoryWith(files);
  return await preflight({ package: '.', directory, flags: [] }, new AbortController().signal);
}

test.each<[string, Record<string, string>, object]>([
  ['nothing', { 'go.mod': module(), 'main.go': 'package main\n\nfunc main() {}\n' }, { is: 'ready' }],
  ['no go.sum', { 'go.mod': module(REQUIRED), 'main.go': MAIN }, { is: 'broken', hint: 'go mod tidy' }],
  [
    'an import that go.mod lacks',
    { 'go.mod': module(), 'main.go': MAIN },
    { is: 'broken', hint: 'go mod tidy' },
  ],
  [
    'a vendor directory that is out of step',
    {
      'go.mod': module(REQUIRED),
      'main.go': MAIN,
      'vendor/modules.txt': '# example.org/other v1.0.0\n## explicit\n',
    },
    { is: 'broken', hint: 'go mod vendor' },
  ],
  [
    'a module that is not downloaded yet',
    {
      'go.mod': module(REQUIRED),
      'main.go': MAIN,
      'go.sum': `example.org/missing v1.0.0 h1:${'A'.repeat(43)}=\nexample.org/missing v1.0.0/go.mod h1:${'A'.repeat(43)}=\n`,
    },
    { is: 'downloads' },
  ],
])('what keeps a build from starting: %s', async (_, files, expected) => {
  expect(await check(files)).toMatchObject(expected);
});

test('what keeps a build from starting: a newer Go', async () => {
  const before = process.env.GOTOOLCHAIN;
  process.env.GOTOOLCHAIN = 'local';
  try {
    const files = {
      'go.mod': 'module example.com/shop\n\ngo 1.99.0\n',
      'main.go': 'package main\n\nfunc main() {}\n',
    };
    expect(await check(files)).toMatchObject({
      is: 'broken',
      hint: expect.stringContaining('Install Go 1.99.0 '),
    });
  } finally {
    if (before === undefined) delete process.env.GOTOOLCHAIN;
    else process.env.GOTOOLCHAIN = before;
  }
});
