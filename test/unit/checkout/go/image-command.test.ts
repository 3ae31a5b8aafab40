import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { directoryWith } from '../../controller/support/places.ts';

const MAIN = 'package main\n\nfunc main() {}\n';
const BUILD = 'FROM golang AS build\nRUN go build -o /out/shop ./cmd/shop\n';

function image(...lines: string[]): string {
  return `${BUILD}FROM scratch\n${lines.join('\n')}\n`;
}

async function commandOf(files: Record<string, string>): Promise<unknown> {
  const root = await directoryWith({
    'go.mod': 'module example.com/shop\n',
    'cmd/shop/main.go': MAIN,
    ...files,
  });
  const named = { package: './cmd/shop', source: '--package' };
  const found = (await findMainPackage(new Checkout(root), { named, image: 'registry.example/shop:1' }))
    .image;
  return found && [found.entrypoint, found.cmd, found.source];
}

test.each<[string, Record<string, string>, unknown]>([
  [
    'ENTRYPOINT and CMD',
    { Dockerfile: image('ENTRYPOINT ["/shop", "serve"]', 'CMD ["--b"]') },
    [['/shop', 'serve'], ['--b'], 'Dockerfile'],
  ],
  [
    'the last ENTRYPOINT, with an init',
    { Dockerfile: image('ENTRYPOINT ["/bash"]', 'ENTRYPOINT ["/tini", "--", "/shop"]') },
    [['/tini', '--', '/shop'], [], 'Dockerfile'],
  ],
  ['CMD alone', { Dockerfile: image('CMD ["shop", "serve"]') }, [[], ['shop', 'serve'], 'Dockerfile']],
  [
    'a variable that is known',
    { Dockerfile: `ARG NAME=shop\n${image(`ENTRYPOINT ["/\${NAME}", "serve"]`)}` },
    [['/shop', 'serve'], [], 'Dockerfile'],
  ],
  [
    'a program that the Makefile builds',
    {
      Dockerfile: 'FROM scratch\nCOPY bin/shop /\nENTRYPOINT ["/shop", "serve"]\n',
      Makefile: 'build:\n\tgo build -o bin/shop ./cmd/shop\n',
    },
    [['/shop', 'serve'], [], 'Dockerfile'],
  ],
  [
    'two images that start it alike',
    {
      Dockerfile: image('ENTRYPOINT ["/shop", "a"]'),
      'debug.Dockerfile': image('ENTRYPOINT ["/shop", "a"]'),
    },
    [['/shop', 'a'], [], 'Dockerfile'],
  ],
  [
    'a variable that is set without an equals sign',
    { Dockerfile: image('ENV NAME shop', `ENTRYPOINT ["/\${NAME}", "serve"]`) },
    [['/shop', 'serve'], [], 'Dockerfile'],
  ],
  [
    'words with a comment between them',
    { Dockerfile: image('ENTRYPOINT ["/shop", \\', '  # of the chart', '  "serve"]') },
    [['/shop', 'serve'], [], 'Dockerfile'],
  ],
  ['a variable that is not', { Dockerfile: image('ENTRYPOINT ["/shop", "$MODE"]') }, undefined],
  ['a line for a shell', { Dockerfile: image('ENTRYPOINT /shop serve') }, undefined],
  ['another program', { Dockerfile: image('ENTRYPOINT ["/entrypoint.sh"]') }, undefined],
  ['a line for a shell in CMD', { Dockerfile: image('CMD /shop serve') }, undefined],
  [
    'two images that start it in different ways',
    {
      'a/Dockerfile': image('ENTRYPOINT ["/shop", "a"]'),
      'b/Dockerfile': image('ENTRYPOINT ["/shop", "b"]'),
    },
    undefined,
  ],
  ['no Dockerfile', {}, undefined],
])('how an image starts the program: %s', async (_, files, expected) => {
  expect(await commandOf(files)).toEqual(expected);
});

const THROUGH = image('COPY hack/entrypoint.sh /', 'ENTRYPOINT ["/entrypoint.sh"]', 'CMD ["--b"]');
const script = (...lines: string[]): string => `#!/bin/sh -e\n${lines.join('\n')}\n`;

test.each<[string, Record<string, string>, unknown]>([
  [
    'with words of its own',
    { Dockerfile: THROUGH, 'hack/entrypoint.sh': script('mkdir -p /tmp/x', 'exec /shop serve --a "$@"') },
    [['/shop', 'serve', '--a'], ['--b'], 'Dockerfile'],
  ],
  [
    'over several lines, behind an init',
    {
      Dockerfile: image('COPY run.sh /bin/', 'ENTRYPOINT ["/tini", "--", "/bin/run.sh"]'),
      'run.sh': script('exec /shop \\', '  "--a=b" \\', '  $@'),
    },
    [['/shop', '--a=b'], [], 'Dockerfile'],
  ],
  [
    'in a directory that is copied, by a variable of the image',
    {
      Dockerfile: image(
        'ENV OPERATOR=/usr/local/bin/shop \\\n    USER_NAME="shop"',
        'COPY build/bin /usr/local/bin',
        'ENTRYPOINT ["/usr/local/bin/entrypoint"]',
      ),
      'build/bin/entrypoint': script(`exec \${OPERATOR} $@`),
    },
    [['/usr/local/bin/shop'], [], 'Dockerfile'],
  ],
  [
    'as its CMD',
    {
      Dockerfile: image('COPY hack/entrypoint.sh /', 'CMD ["/entrypoint.sh", "--b"]'),
      'hack/entrypoint.sh': script('exec /shop "$@"'),
    },
    [[], ['/shop', '--b'], 'Dockerfile'],
  ],
  [
    'of another program',
    { Dockerfile: THROUGH, 'hack/entrypoint.sh': script('exec /other "$@"') },
    undefined,
  ],
  [
    'by a variable',
    { Dockerfile: THROUGH, 'hack/entrypoint.sh': script('exec /shop $MODE "$@"') },
    undefined,
  ],
  ['without their words', { Dockerfile: THROUGH, 'hack/entrypoint.sh': script('exec /shop') }, undefined],
  [
    'in two ways',
    {
      Dockerfile: THROUGH,
      'hack/entrypoint.sh': script('[ -z "$D" ] || exec /shop -d "$@"', 'exec /dlv "$@"', 'exec /shop "$@"'),
    },
    undefined,
  ],
  [
    'that is no script of a shell',
    { Dockerfile: THROUGH, 'hack/entrypoint.sh': '#!/usr/bin/python3\nexec /shop "$@"\n' },
    undefined,
  ],
])('a script of the checkout starts the program: %s', async (_, files, expected) => {
  expect(await commandOf(files)).toEqual(expected);
});
