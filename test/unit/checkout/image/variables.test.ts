import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { directoryWith } from '../../controller/support/places.ts';

const BUILDER = 'FROM golang:1 AS builder\nENV CGO_ENABLED=0\nRUN go build -o manager ./cmd\n';
const START = 'ENTRYPOINT ["/manager"]\n';

/** The variables that the image of these Dockerfiles sets. */
async function variablesOf(dockerfiles: Record<string, string>): Promise<Record<string, string>> {
  const root = await directoryWith({
    'go.mod': 'module example.com/shop\n',
    'cmd/main.go': 'package main\n\nfunc main() {}\n',
    ...dockerfiles,
  });
  const named = { package: './cmd', source: '--package' };
  return (await findMainPackage(new Checkout(root), { named, command: ['/manager'] })).imageVariables;
}

test.each<[string, string, Record<string, string>]>([
  ['a value', 'ENV LEVEL=info', { LEVEL: 'info' }],
  ['several in one instruction', 'ENV A=1 \\\n    B="two words"', { A: '1', B: 'two words' }],
  ['one without an equals sign', 'ENV LEVEL info', { LEVEL: 'info' }],
  ['the last of two', 'ENV LEVEL=info\nENV LEVEL=debug', { LEVEL: 'debug' }],
  ['an argument with a default', `ARG version="5.12.0"\nENV VERSION=$\{version}`, { VERSION: '5.12.0' }],
  ['an argument of the same name', 'ARG VERSION=5\nENV VERSION=$VERSION', { VERSION: '5' }],
  ['another variable', 'ENV A=1\nENV B=$A-x', { A: '1', B: '1-x' }],
  ['an argument that only the build knows', 'ARG VERSION\nENV VERSION=$VERSION A=1', { A: '1' }],
  ['a default in a reference', `ENV A=$\{B:-1}`, {}],
  ['quotes in a value', `ENV A='1' B=2`, { B: '2' }],
  ['nothing of another stage', 'RUN true', {}],
])('the variables of an image: %s', async (_, line, expected) => {
  expect(await variablesOf({ Dockerfile: `${BUILDER}FROM scratch\n${line}\n${START}` })).toEqual(expected);
});

test('a stage has the variables of the stage that it begins with, and arguments from before all stages', async () => {
  const base = 'ARG VERSION=1\nFROM busybox AS Base\nENV A=1 B=1\n';
  const last = `FROM base\nARG VERSION\nENV B=2 VERSION=$VERSION\n${START}`;
  expect(await variablesOf({ Dockerfile: `${base}${BUILDER}${last}` })).toEqual({
    A: '1',
    B: '2',
    VERSION: '1',
  });
});

test('of several images of the program, what they agree on; of other programs, nothing', async () => {
  const image = (line: string): string => `${BUILDER}FROM scratch\n${line}\n${START}`;
  const other = 'FROM golang\nRUN go build -o agent ./cmd/agent\nENV C=1\nENTRYPOINT ["/agent"]\n';
  const files = { Dockerfile: image('ENV A=1 B=1'), 'debug.Dockerfile': image('ENV A=1 B=2') };
  expect(await variablesOf({ ...files, 'agent.Dockerfile': other })).toEqual({ A: '1' });
});
