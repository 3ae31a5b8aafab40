import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { directoryWith } from '../../controller/support/places.ts';

const MAIN = 'package main\n\nconst path = "/validate-shop"\n\nfunc main() {}\n';
const FILES = { 'templates/a.tpl': '', 'hack/default.yaml': '', 'b.yaml': '', 'cmd/manager/main.go': MAIN };

/** The files of the checkout that the image of these Dockerfiles contains: `from -> to`. */
async function filesOf(dockerfiles: Record<string, string>, image?: string): Promise<string[]> {
  const directory = await directoryWith({ 'go.mod': 'module example.com/shop\n', ...FILES, ...dockerfiles });
  const hints = { command: ['/manager'], paths: ['/validate-shop'], image };
  const { imageFiles } = await findMainPackage(new Checkout(directory), hints);
  return imageFiles.map(({ from, to }) => `${from.slice(directory.length + 1)} -> ${to}`).sort();
}

const BUILDER =
  'FROM golang:1 AS builder\nWORKDIR /workspace\nCOPY . .\nRUN go build -o manager ./cmd/manager\n';
const START = 'ENTRYPOINT ["/manager"]\n';

test.each<[string, string, string[]]>([
  ['a directory', 'COPY templates /templates', ['templates -> /templates']],
  ['a directory with slashes', 'COPY ./templates/ /templates/', ['templates -> /templates']],
  [
    'a file into a directory',
    'COPY hack/default.yaml /etc/shop/',
    ['hack/default.yaml -> /etc/shop/default.yaml'],
  ],
  ['a file under another name', 'COPY b.yaml /c.yaml', ['b.yaml -> /c.yaml']],
  [
    'several files',
    'COPY b.yaml hack/default.yaml /etc/',
    ['b.yaml -> /etc/b.yaml', 'hack/default.yaml -> /etc/default.yaml'],
  ],
  [
    'a path in the working directory',
    'WORKDIR /opt\nCOPY templates templates',
    ['templates -> /opt/templates'],
  ],
  ['the working directory', 'WORKDIR /opt\nCOPY b.yaml .', ['b.yaml -> /opt/b.yaml']],
  ['words in JSON', 'ADD --chown=1:1 ["templates", "/templates"]', ['templates -> /templates']],
  ['an argument', 'ARG ASSETS=templates\nCOPY $ASSETS /assets', ['templates -> /assets']],
  ['another stage', 'COPY --from=builder /workspace/templates /templates', ['templates -> /templates']],
  ['another stage, from its directory', 'COPY --from=0 templates /templates', ['templates -> /templates']],
  [
    'the last of two',
    'COPY b.yaml /c.yaml\nCOPY hack/default.yaml /c.yaml',
    ['hack/default.yaml -> /c.yaml'],
  ],
  ['nothing that is built', 'COPY --from=builder /workspace/manager /manager', []],
  ['nothing of another image', 'COPY --from=busybox /b.yaml /b.yaml', []],
  ['nothing by a pattern, outside, or unknown', 'COPY *.yaml /etc/\nCOPY ../b.yaml /b.yaml\nCOPY $X /x', []],
])('an image has of the checkout: %s', async (_, copy, expected) => {
  expect(await filesOf({ Dockerfile: `${BUILDER}FROM scratch\n${copy}\n${START}` })).toEqual(expected);
});

test('a stage has what the one has that it begins with', async () => {
  const base = 'FROM scratch AS base\nWORKDIR /opt\nCOPY templates /templates\n';
  expect(await filesOf({ Dockerfile: `${BUILDER}${base}FROM base\nCOPY b.yaml .\n${START}` })).toEqual([
    'b.yaml -> /opt/b.yaml',
    'templates -> /templates',
  ]);
});

test('Dockerfiles of one image that disagree about a place say nothing about it, and those of another image do not count', async () => {
  const from = (what: string) => `${BUILDER}FROM scratch\nCOPY ${what} /c.yaml\nCOPY templates /t\n${START}`;
  const two = { Dockerfile: from('b.yaml'), 'Dockerfile.arm': from('hack/default.yaml') };
  expect(await filesOf(two)).toEqual(['templates -> /t']);
  const named = { 'shop.Dockerfile': from('b.yaml'), 'other.Dockerfile': from('hack/default.yaml') };
  expect(await filesOf(named, 'example.com/shop:1')).toEqual(['b.yaml -> /c.yaml', 'templates -> /t']);
});
