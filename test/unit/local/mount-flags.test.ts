import { join } from 'node:path';
import { expect, test } from 'vitest';
import { definedFlags } from '../../../src/checkout/go/flags.ts';
import { linkedPackages } from '../../../src/checkout/go/linked-packages.ts';
import { planMountFlags } from '../../../src/local/default-flags.ts';
import type { MountPoint } from '../../../src/operator/volumes.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { sourcesOf } from '../../support/go-sources.ts';
import { directoryWith } from '../controller/support/places.ts';

const MAIN = `package main

import "flag"

func main() {
	flag.String("grpc-cert-dir", "/grpc-cert", "")
	flag.String("settings", "/etc/shop/settings.yaml", "")
	flag.String("a", "/twice", "")
	flag.String("b", "/twice", "")
	flag.Parse()
}
`;

/** For a program of one package, whose container has these mounts. */
async function plan(paths: string[], words: string[] = [], { definedElsewhere = false } = {}) {
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': MAIN,
  });
  const where = definedElsewhere ? join(directory, 'other') : directory;
  const flags = definedFlags(sourcesOf({ [join(where, 'main.go')]: MAIN }));
  const mounts = paths.map((path, index): MountPoint => {
    return { path, subPath: undefined, volume: { name: `v${index}`, secret: { secretName: 'grpc' } } };
  });
  const linked = linkedPackages({ directory, goPackage: '.', flags: [] });
  const events: DevloopEvent[] = [];
  const planned = await planMountFlags(
    { mounts, flags, linked, words },
    { emit: (event) => void events.push(event) },
  );
  return { args: planned.map(({ value }) => value), events };
}

test('a mount that is the default of a flag, or has it below, is named by the flag', async () => {
  const { args, events } = await plan(['/grpc-cert', '/etc/shop', '/data']);
  expect(args).toEqual(['--grpc-cert-dir=/grpc-cert', '--settings=/etc/shop/settings.yaml']);
  expect(events).toMatchObject([
    {
      code: 'setting.changed',
      values: { setting: '--grpc-cert-dir', place: 'default', after: '/grpc-cert' },
    },
    { code: 'setting.changed', values: { setting: '--settings' } },
  ]);
});

test.each([
  ['the flag is given', ['/grpc-cert'], ['-grpc-cert-dir', '/elsewhere'], {}],
  ['an argument names the mount', ['/grpc-cert'], ['--other=/grpc-cert/tls.crt'], {}],
  ['two flags have the same default, maybe of two subcommands', ['/twice'], [], {}],
  ['the program does not define the flag', ['/grpc-cert'], [], { definedElsewhere: true }],
])('nothing is added where %s', async (_, paths, words, options) => {
  expect(await plan(paths, words, options)).toEqual({ args: [], events: [] });
});

test('the go tool lists the packages of a program once, and only when somebody asks', async () => {
  const linked = linkedPackages({ directory: '/nowhere', goPackage: '.', flags: [] });
  const first = linked();
  expect(linked()).toBe(first);
  await first;
});
