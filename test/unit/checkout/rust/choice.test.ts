import { expect, test } from 'vitest';
import type { ProgramHints } from '../../../../src/checkout/language.ts';
import type { Binary } from '../../../../src/checkout/rust/cargo.ts';
import { chooseBinary } from '../../../../src/checkout/rust/choice.ts';

const binary = (name: string, more: Partial<Binary> = {}): Binary => ({
  ...{
    name,
    package: 'shop',
    directory: '/shop',
    callsKubernetes: true,
    isDefault: false,
    features: [],
    ...more,
  },
});
const CRDS = binary('crdgen');
const OPERATOR = binary('shop-operator');
const TOOL = binary('xtask', { package: 'xtask', directory: '/shop/xtask', callsKubernetes: false });

function chosen(binaries: Binary[], hints: Partial<ProgramHints> = {}, entrypoint?: string[]) {
  const workspace = { root: '/shop', binaries, output: '/shop/target/debug', rustVersion: undefined };
  const image = entrypoint && { entrypoint, cmd: [], source: 'Dockerfile' };
  const { source, rivals, ...found } = chooseBinary(workspace, { directory: '/state', ...hints }, image);
  return { name: found.binary.name, source, rivals: rivals.map(({ name }) => name) };
}

test.each<[string, Binary[], Partial<ProgramHints>, string[] | undefined, string, string[]]>([
  ['the only program that depends on kube', [TOOL, OPERATOR], {}, undefined, 'shop-operator', []],
  [
    'the command of the container',
    [CRDS, OPERATOR],
    { command: ['/app/shop-operator'] },
    ['/crdgen'],
    'shop-operator',
    [],
  ],
  [
    'the program of its image in Dockerfile',
    [CRDS, OPERATOR],
    {},
    ['tini', '/shop-operator'],
    'shop-operator',
    [],
  ],
  [
    'the default-run of its package',
    [CRDS, { ...OPERATOR, isDefault: true }],
    { command: ['/manager'] },
    undefined,
    'shop-operator',
    ['crdgen'],
  ],
  [
    '--package',
    [CRDS, OPERATOR],
    { named: { package: 'crdgen', source: '--package' } },
    ['/shop-operator'],
    'crdgen',
    [],
  ],
  [
    '--package',
    [OPERATOR, TOOL],
    { named: { package: './xtask', source: '--package' } },
    undefined,
    'xtask',
    [],
  ],
])('of a workspace, %s is built', (source, binaries, hints, image, name, rivals) => {
  expect(chosen(binaries, hints, image)).toEqual({ name, source, rivals });
});

test.each<[string, Binary[], Partial<ProgramHints>, RegExp, string]>([
  [
    'several programs',
    [CRDS, OPERATOR],
    {},
    /crdgen {2}\(package shop\)/,
    'Choose one:\ndevloop up --package crdgen\ndevloop up --package shop-operator',
  ],
  [
    'a misspelt name',
    [CRDS, OPERATOR],
    { named: { package: 'shop-operatr', source: '--package' } },
    /shop-operatr \(--package\)/,
    'devloop up --package shop-operator',
  ],
  ['no program', [], {}, /No package/, 'devloop up -- <command>'],
])('%s are an error that says how to choose', (_, binaries, hints, message, hint) => {
  const fails = expect.objectContaining({
    code: 'controller.no-main',
    message: expect.stringMatching(message),
    hint: expect.stringContaining(hint),
  });
  expect(() => chosen(binaries, hints)).toThrow(fails);
});
