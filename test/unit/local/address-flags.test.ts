import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { linkedPackages } from '../../../src/controller/go/linked-packages.ts';
import { planAddressFlags } from '../../../src/local/default-flags.ts';
import { addressFlags } from '../../../src/operator/address-flags.ts';
import { freePort } from '../../support/free-port.ts';
import { directoryWith } from '../controller/support/places.ts';

const MAIN = (busy: number, free: number): string => `package main

import "flag"

func main() {
	flag.String("metrics-addr", ":${busy}", "")
	flag.String("health-addr", ":${free}", "")
	flag.String("peer-url", "http://localhost:${busy}", "")
	flag.Parse()
}
`;

async function busyPort(): Promise<number> {
  const server = createServer().listen(0);
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return (server.address() as { port: number }).port;
}

/** Of a program that has these flags, one of them with a port that is in use. */
async function plan({ words = [], running, definedElsewhere = false }: Partial<Case> = {}) {
  const busy = await busyPort();
  const main = MAIN(busy, await freePort());
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': main,
  });
  const definer = new Set([definedElsewhere ? join(directory, 'other') : directory]);
  const flags = new Map(addressFlags(main).map((flag) => [flag, definer]));
  const linked = linkedPackages({ directory, goPackage: '.', flags: [] }, undefined);
  const planned = await planAddressFlags({ addressFlags: flags, linked, words, running });
  return planned.map(({ value }) => value.replace(String(busy), 'BUSY'));
}

interface Case {
  words: string[];
  running: string[];
  definedElsewhere: boolean;
}

test('an address that is the default of a flag, and in use, is written out', async () => {
  expect(await plan()).toEqual(['--metrics-addr=:BUSY']);
});

test('it stays written out while the controller runs with another port', async () => {
  expect(await plan({ running: ['--metrics-addr=0'] })).toEqual(['--metrics-addr=:BUSY']);
});

test.each<[string, Partial<Case>]>([
  ['the flag is given', { words: ['-metrics-addr', ':9000'] }],
  ['the controller itself uses the port', { running: ['--other'] }],
  ['the program does not define the flag', { definedElsewhere: true }],
])('nothing is where %s', async (_, given) => {
  expect(await plan(given)).toEqual([]);
});

test.each([
  ["Go's flag package", 'flag.StringVar(&addr, "health-addr", ":8081", "Where.")', ['--health-addr=:8081']],
  [
    'pflag with a short name, for all commands',
    'cmd.PersistentFlags().StringVarP(\n	&addr,\n	"health-addr", "p",\n	"0.0.0.0:8081", "Where.",\n)',
    ['--health-addr=0.0.0.0:8081'],
  ],
  ['one command of several', 'cmd.Flags().StringVar(&addr, "health-addr", ":8081", "Where.")', []],
  ['a flag without a port', 'flag.StringVar(&addr, "health-addr", "0", "Where.")', []],
])('the default address of a flag is read: %s', (_, text, flags) => {
  expect(addressFlags(text)).toEqual(flags);
});
