import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Flag, ProgramCommand } from '../../../src/checkout/flags.ts';
import { cobraCommands } from '../../../src/checkout/go/commands.ts';
import { definedFlags } from '../../../src/checkout/go/flags.ts';
import { linkedPackages } from '../../../src/checkout/go/linked-packages.ts';
import { readsFlag } from '../../../src/checkout/program-flags.ts';
import { busyPortsIn } from '../../../src/local/apply-rules.ts';
import { defaultFlags } from '../../../src/local/default-settings.ts';
import { openSettings } from '../../../src/local/settings.ts';
import { freePort } from '../../support/free-port.ts';
import { sourcesOf } from '../../support/go-sources.ts';
import { directoryWith } from '../controller/support/places.ts';
import { madeLocal } from './support/made-local.ts';

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

/** What the sources define; there are several files here: path -> text. */
function flagsIn(files: Record<string, string>): { flags: Flag[]; commands: ProgramCommand[] } {
  const sources = sourcesOf(files);
  return { flags: definedFlags(sources), commands: cobraCommands(sources) };
}

/** The flags of a program with these packages that is started with these words, with their defaults. */
function ownFlags(files: Record<string, string>, linked: string[], words: string[]): string[] {
  const { flags, commands } = flagsIn(files);
  const known = flags.filter(({ value }) => value !== undefined);
  const same = Map.groupBy(known, ({ flag, value }) => `--${flag}=${value}`);
  const own = [...same].filter(([, places]) =>
    readsFlag(places, { commands, linked: new Set(linked), words }),
  );
  return own.map(([argument]) => argument);
}

/** For a program that has these flags, one of them with a port that is in use. Another program has the same flags. */
async function plan({ words = [], running, definedElsewhere = false }: Partial<Case> = {}) {
  const busy = await busyPort();
  const main = MAIN(busy, await freePort());
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': main,
  });
  const files = definedElsewhere ? ['other/main.go'] : ['first/main.go', 'main.go'];
  const defined = flagsIn(Object.fromEntries(files.map((file) => [join(directory, file), main])));
  const linked = linkedPackages({ directory, goPackage: '.', flags: [] });
  const facts = { ...defined, electionFlags: [], commandNames: new Set<string>(), linked };
  const known = {
    secrets: new Set<string>(),
    commandNames: new Set<string>(),
    defaults: defaultFlags(facts),
  };
  const args = words.map((word) => ({ value: word, shown: word }));
  const settings = openSettings({ args, variables: {}, files: new Map() }, known);
  const busyPorts = await busyPortsIn(
    settings.read(),
    running && { args: running.map((value) => ({ value, shown: value })), variables: {}, files: new Map() },
  );
  return (await madeLocal({ args: words }, { busyPorts }, known)).args;
}

interface Case {
  words: string[];
  running: string[];
  definedElsewhere: boolean;
}

test('an address that is the default of a flag gets another port if it is in use, also where several programs have the flag', async () => {
  expect(await plan()).toEqual(['--metrics-addr=:0']);
});

test('it keeps another port while the controller runs with one', async () => {
  expect(await plan({ running: ['--metrics-addr=:0'] })).toEqual(['--metrics-addr=:0']);
});

test.each<[string, Partial<Case>]>([
  ['the flag is given', { words: ['-metrics-addr', ':9000'] }],
  ['the controller itself uses the port', { running: ['--other'] }],
  ['the program does not define the flag', { definedElsewhere: true }],
])('nothing is where %s', async (_, given) => {
  expect(await plan(given)).toEqual(given.words ?? []);
});

test.each([
  ["Go's flag package", 'flag.StringVar(&addr, "health-addr", ":8081", "Where.")', ['--health-addr=:8081']],
  [
    'pflag with a short name, for all commands',
    'cmd.PersistentFlags().StringVarP(\n	&addr,\n	"health-addr", "p",\n	"0.0.0.0:8081", "Where.",\n)',
    ['--health-addr=0.0.0.0:8081'],
  ],
  ['a number', 'fs.IntVar(&o.port, "health-port", 8081, "Where.")', ['--health-port=8081']],
  [
    'a constant',
    'const (\n	DefaultPort int = 8081 // of health checks\n)\nvar p = flag.Int("health-port", DefaultPort, "Where.")',
    ['--health-port=8081'],
  ],
  [
    'a constant and a variable, each in a line of its own',
    'const addr = ":8081"\r\nvar port int = 8082\r\nvar a = flag.String("health-addr", addr, "")\r\nvar b = flag.Int("probe-port", port, "")',
    ['--health-addr=:8081', '--probe-port=8082'],
  ],
  [
    'a constant that has two values',
    'const addr = ":1234"\nconst addr = ":4321"\nvar p = flag.String("health-addr", addr, "Where.")',
    [],
  ],
  ['a command that is not here', 'cmd.Flags().StringVar(&addr, "health-addr", ":8081", "Where.")', []],
  ['a switch', 'flag.BoolVar(&on, "tracing", true, "Trace.")', ['--tracing=true']],
])('the default address of a flag is read: %s', (_, text, expected) => {
  expect(ownFlags({ '/shop/main.go': text }, ['/shop'], [])).toEqual(expected);
});

/** A command, and its own flag. */
const command = (name: string, flag: string): string => `package x

func NewCommand() *cobra.Command {
	var addr string
	command := &cobra.Command{
		Use:   "${name} [flags]",
		Short: "Serve",
		Run:   func(_ *cobra.Command, _ []string) { serve(addr) },
	}
	flags := command.Flags()
	flags.StringVar(&addr, "${flag}", ":8081", "Where.")
	return command
}
`;
const ROOT = 'func main() {\n	root := &cobra.Command{Use: "shop"}\n	root.AddCommand(x.NewCommand())\n}\n';
const HEALTH = ['--health-addr=:8081'];

test.each<[string, Record<string, string>, string[], string[]]>([
  [
    'of the command that runs',
    { '/a/start.go': command('start', 'health-addr') },
    ['start', '--v=2'],
    HEALTH,
  ],
  ['of another command', { '/a/start.go': command('start', 'health-addr') }, ['migrate'], []],
  ['of no command', { '/a/start.go': command('start', 'health-addr') }, ['--v=2'], []],
  [
    'of each of two commands with that name',
    { '/a/start.go': command('start', 'health-addr'), '/b/start.go': command('start', 'health-addr') },
    ['hook', 'start'],
    HEALTH,
  ],
  [
    'of one of two commands with that name',
    { '/a/start.go': command('start', 'health-addr'), '/b/start.go': command('start', 'metrics-addr') },
    ['hook', 'start'],
    [],
  ],
  [
    'of one of two commands with that name, the other one of another program',
    { '/a/start.go': command('start', 'health-addr'), '/other/start.go': command('start', 'metrics-addr') },
    ['start'],
    HEALTH,
  ],
])('a flag of a command of cobra: %s', (_, files, words, expected) => {
  expect(ownFlags({ '/main.go': ROOT, ...files }, ['/', '/a', '/b'], words)).toEqual(expected);
});

test('the flag of the only command of cobra is known without its name', () => {
  const files = { '/a/root.go': command('shop', 'health-addr') };
  expect(ownFlags(files, ['/a'], ['--v=2'])).toEqual(HEALTH);
});
