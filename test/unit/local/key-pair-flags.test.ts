import { chmod } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { checkoutFacts } from '../../../src/languages.ts';
import { planKeyPairFlags, planOwnDirectory } from '../../../src/local/default-flags.ts';
import { planController } from '../../../src/local/plan.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { controllerOf } from '../../support/settings.ts';
import { directoryWith, put } from '../controller/support/places.ts';
import { inputs } from './support/inputs.ts';

/** Below a file, not even root can create a directory. */
async function plan(flags: [string, string][], more: string[] = [], mayLookElsewhere = false) {
  const directory = await directoryWith({ file: '' });
  const refused = join(directory, 'file', 'certs');
  const defaults = flags.map(([flag, path]) => {
    return { flag, value: path.replace('REFUSED', refused), directory: '/checkout' };
  });
  const hardCoded = [refused, ...more.map((name) => join(directory, name))];
  const events: DevloopEvent[] = [];
  const places = {
    hardCoded,
    flags: defaults,
    keyPairDirectory: '/state/certs',
    mayLookElsewhere,
  };
  const planned = planKeyPairFlags(places, { emit: (event) => void events.push(event) });
  return { planned, events, refused, directory };
}

test('a directory that the account cannot write is replaced by its flag, with a note', async () => {
  const { planned, events, refused } = await plan([['cert-dir', 'REFUSED']]);
  expect(await planned).toEqual({ args: ['--cert-dir=/state/certs'], hardCoded: [], placed: [] });
  const values = { setting: '--cert-dir', place: 'default', before: refused, after: '/state/certs' };
  expect(events).toMatchObject([{ code: 'setting.changed', values }]);
});

test('flags that name the files are replaced too', async () => {
  const { planned } = await plan([
    ['tls-cert', 'REFUSED/tls.crt'],
    ['tls-key', 'REFUSED/tls.key'],
  ]);
  expect(await planned).toEqual({
    args: ['--tls-cert=/state/certs/tls.crt', '--tls-key=/state/certs/tls.key'],
    hardCoded: [],
    placed: [],
  });
});

test('two such flags may be about two servers', async () => {
  const { planned } = await plan([
    ['cert-dir', 'REFUSED'],
    ['metrics-cert-dir', 'REFUSED'],
  ]);
  await expect(planned).rejects.toMatchObject({ code: 'certificate.not-written' });
});

test('without such a flag, the controller alone finds the key pair there, where its mounts can be its own', async () => {
  const open = await directoryWith({});
  await chmod(open, 0o777);
  const hardCoded = [join(open, 'certs')];
  const places = { hardCoded, flags: [], mayLookElsewhere: false };
  const planFor = (mayPlace: boolean) =>
    planKeyPairFlags({ ...places, keyPairDirectory: '/state/certs', mayPlace }, { emit: () => {} });
  expect(await planFor(true)).toEqual({
    args: [],
    hardCoded: [],
    placed: [{ from: '/state/certs', to: join(open, 'certs') }],
  });
  await expect(planFor(false)).rejects.toMatchObject({ code: 'certificate.not-written' });
});

test('a Secret is neither written nor mounted where programs of this machine may look', async () => {
  const hardCoded = ['/usr/local/no-such-directory', join(homedir(), '.no-such-directory')];
  const places = { hardCoded, flags: [], mayPlace: true };
  const planFor = (mayLookElsewhere: boolean) =>
    planKeyPairFlags({ ...places, keyPairDirectory: '/state/certs', mayLookElsewhere }, { emit: () => {} });
  expect(await planFor(true)).toEqual({ args: [], hardCoded: [], placed: [] });
  await expect(planFor(false)).rejects.toMatchObject({ code: 'certificate.not-written' });
});

test('without such a flag nothing begins, and the hint makes the directory', async () => {
  const { planned, refused } = await plan([['cert-dir', '/elsewhere']]);
  await expect(planned).rejects.toMatchObject({
    code: 'certificate.not-written',
    hint: expect.stringMatching(new RegExp(`^sudo install .* ${refused} `)),
  });
});

test('where the sources name another directory, too, that one is enough', async () => {
  const { planned, directory } = await plan([], ['new/certs']);
  expect(await planned).toEqual({ args: [], hardCoded: [join(directory, 'new/certs')], placed: [] });
});

test('where the user named another directory or variables, nothing is certain', async () => {
  const { planned, refused } = await plan([], [], true);
  expect(await planned).toEqual({ args: [], hardCoded: [refused], placed: [] });
});

test.each<[string, [string, string][], string[], string[]]>([
  ['which is refused', [['webhook-cert-dir', 'REFUSED']], [], ['--webhook-cert-dir=/state/certs']],
  ['which is given', [['webhook-cert-dir', 'REFUSED']], ['--webhook-cert-dir=/x'], []],
  ['which can be written', [['webhook-cert-dir', 'OPEN']], [], []],
  ['of another program', [['other-cert-dir', 'REFUSED']], [], []],
  ['of something else', [['cache-dir', 'REFUSED']], [], []],
])(
  'a program that keeps its key pair itself has a directory for it: %s',
  async (_, flags, words, expected) => {
    const directory = await directoryWith({ file: '' });
    const defaults = flags.map(([flag, path]) => ({
      flag,
      value: path
        .replace('REFUSED', join(directory, 'file', 'certs'))
        .replace('OPEN', join(directory, 'certs')),
      directory: flag.startsWith('other') ? '/other' : '/checkout',
    }));
    const places = {
      flags: defaults,
      keyPairDirectory: '/state/certs',
      linked: async () => new Map([['example.com/shop', '/checkout']]),
    };
    expect(await planOwnDirectory(places, words, { emit: () => {} })).toEqual(expected);
  },
);

test.each<[string, string[], string | undefined]>([
  ['that no container mounts', [], '--cert-dir=/state/s1/certs'],
  ['that is mounted elsewhere', ['/other'], undefined],
])('the plan has such a flag for a key pair %s', async (_, keyPairMounts, expected) => {
  const root = await directoryWith({ file: '', 'go.mod': 'module example.com/shop\n\ngo 1.24\n' });
  const flag = `flag.String("cert-dir", "${root}/file/certs", "Where.")`;
  await put(root, 'main.go', `package main\n\nimport "flag"\n\nvar dir = ${flag}\n\nfunc main() {}\n`);
  const own = { checkout: new Checkout(root), facts: await checkoutFacts(new Checkout(root)) };
  const rest = inputs({ ...own, settings: controllerOf({ package: '.' }), keyPairMounts });
  const { run } = (await planController(rest, { emit: () => {}, signal: new AbortController().signal })).plan;
  expect(run.find((word) => word.includes('cert-dir'))).toBe(expected);
});
