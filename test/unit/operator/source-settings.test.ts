import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mayLeaveElectionOn } from '../../../src/checkout/election-switch.ts';
import { isKubeconfigFlag } from '../../../src/checkout/flags.ts';
import { electionVariables } from '../../../src/checkout/go/election-variables.ts';
import { definedFlags } from '../../../src/checkout/go/flags.ts';
import { flagsOfKubernetes } from '../../../src/checkout/go/leader-election.ts';
import { flagsBelow } from '../../../src/checkout/path-flags.ts';
import { sourcesOf } from '../../support/go-sources.ts';

test.each([
  [
    'the option',
    'ctrl.Options{\n	LeaderElection: os.Getenv("SHOP_HA") == "true",\n	Metrics: os.Getenv("SHOP_METRICS"),\n}',
  ],
  ['the default of the flag', 'flag.BoolVar(&on, "leader-elect", os.Getenv("SHOP_HA") == "true", "Elect.")'],
  [
    'the tag of a field',
    'type config struct {\n	LeaderElection bool `env:"SHOP_HA" default:"true"`\n	Metrics bool `env:"SHOP_METRICS"`\n}',
  ],
  ['viper', 'viper.BindEnv("leader-elect", "SHOP_HA")\nviper.BindEnv("metrics", "SHOP_METRICS")'],
  [
    'urfave/cli',
    '&cli.BoolFlag{\n	Name: "leader-elect",\n	EnvVars: []string{"SHOP_HA"},\n},\n&cli.BoolFlag{\n	Name: "metrics",\n	EnvVars: []string{"SHOP_METRICS"},\n},',
  ],
  [
    'a variable that the option is set to',
    'ha := os.Getenv("SHOP_HA") == "true"\nmetrics := os.Getenv("SHOP_METRICS")\nctrl.Options{LeaderElection: ha}',
  ],
  [
    'a field that the option is set to',
    'type config struct {\n	HA bool `envconfig:"SHOP_HA"`\n}\nctrl.Options{LeaderElection: cfg.HA}',
  ],
])('a variable is bound to leader election by %s', (_, text) => {
  expect([...electionVariables(sourcesOf({ 'main.go': text }))]).toEqual(['SHOP_HA']);
});

test.each([
  [
    'of another option',
    'ctrl.Options{LeaderElectionID: os.Getenv("SHOP_ID"), LeaderElectionReleaseOnCancel: env("RELEASE")}',
  ],
  ['of a field beside it', 'ctrl.Options{LeaderElection: true, Metrics: os.Getenv("SHOP_METRICS")}'],
  ['without leader election', 'ha := os.Getenv("SHOP_HA")'],
])('a variable %s is not', (_, text) => {
  expect([...electionVariables(sourcesOf({ 'main.go': text }))]).toEqual([]);
});

const MODULES = [{ path: 'example.com/shop', directory: '/checkout' }];

function flagsIn(files: Record<string, string>): string[] {
  const flags = definedFlags(sourcesOf(files, MODULES));
  return [...flagsBelow(flags, '/certs').values()].flatMap((found) => [...found.keys()]);
}

test.each([
  ["Go's flag package", 'flag.StringVar(&certDir, "cert-dir", "/certs", "Where.")'],
  ['a flag that is returned', 'var dir = flag.String("cert-dir", "/certs/", "Where.")'],
  [
    'pflag with a short name, over several lines',
    'cmd.Flags().StringVarP(\n	&o.CertDir,\n	"cert-dir", "c",\n	"/certs", "Where.",\n)',
  ],
  ['urfave/cli', '&cli.StringFlag{\n	Name: "cert-dir",\n	Usage: "Where.",\n	Value: "/certs",\n}'],
  ['urfave/cli, after a usage', 'cli.PathFlag{Usage: "Where.", Name: "cert-dir", Value: "/certs"}'],
])('the flag of a directory is found: %s', (_, text) => {
  expect(flagsIn({ '/checkout/cmd/main.go': text })).toEqual(['cert-dir']);
});

test.each([
  ['one', 'env = append(env, corev1.EnvVar{Name: "SHOP_CERTS", Value: "/certs"})'],
  ['one of a list', '[]corev1.EnvVar{\n	{\n		Name: "SHOP_CERTS",\n		Value: "/certs",\n	},\n}'],
  ['one after a flag', 'cli.BoolFlag{Name: "on"}\nreturn EnvVar{Name: "SHOP_CERTS", Value: "/certs"}'],
])('a variable that the operator gives to others is no flag: %s', (_, text) => {
  expect(flagsIn({ '/checkout/cmd/main.go': text })).toEqual([]);
});

test('the flag of a directory is found by a constant of another file', () => {
  const main =
    'package main\nimport "example.com/shop/defaults"\nvar d = fs.String("cert-dir", defaults.CertDir, "Where.")';
  const files = { '/checkout/cmd/main.go': main };
  const constant = { '/checkout/defaults/d.go': 'package defaults\nconst CertDir = "/certs"\n' };
  expect(flagsIn({ ...files, ...constant })).toEqual(['cert-dir']);
  expect(flagsIn(files)).toEqual([]);
});

/** The sources of packages: the first imports the others. */
function electionFlagsIn(...files: [text: string, directory?: string][]) {
  const imports = 'package main\nimport "example.com/shop/options"\n';
  const written = files.map(([text, directory = '/checkout'], index) => [
    join(directory, `${index}.go`),
    index === 0 ? `${imports}${text}` : text,
  ]);
  const sources = sourcesOf(Object.fromEntries(written), MODULES);
  return [...definedFlags(sources), ...flagsOfKubernetes(sources)].filter(mayLeaveElectionOn);
}

test.each([
  ['flag.BoolVar(&on, "leader-elect", true, "Elect.")', ['leader-elect']],
  ['f.BoolP("enable-leader-election", "l", true, "Elect.")', ['enable-leader-election']],
  ['f.Bool("disable-leader-election", false, "Do not.")', ['disable-leader-election']],
  ['options.BindLeaderElectionFlags(&o.LeaderElection, fs)', ['leader-elect']],
  ['f.Bool("leader-elect", false, "Elect.")', []],
  ['f.Bool("leader-election-release", true, "Release.")', []],
  ['f.String("leader-election", "enabled", "Elect.")', ['leader-election']],
])('a flag whose default leaves leader election on: %s', (text, expected) => {
  expect(electionFlagsIn([text]).map(({ flag }) => flag)).toEqual(expected);
});

const OF_OPTIONS = 'fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Elect.")';

test.each<[string, string, string, boolean]>([
  ['a constant', 'f.Bool("leader-elect", defaultElect, "")', 'const defaultElect = true', true],
  ['a typed constant', 'f.Bool("leader-elect", electing, "")', 'const (\n\telecting bool = true\n)', true],
  ['one of another package', 'f.BoolP("leader-elect", "l", options.Elect, "")', 'const Elect = true', true],
  ['a field of the options', OF_OPTIONS, 'return &Options{LeaderElect: true}', true],
  ['a field that is set', OF_OPTIONS, 'o.Election.LeaderElect = true', true],
  ['one that is off', OF_OPTIONS, 'return &Options{LeaderElect: false}', false],
  ['one that is compared', OF_OPTIONS, 'if o.LeaderElect == true {\n', false],
  ['an unknown one', OF_OPTIONS, '', false],
  ['a name of another package', 'f.Bool("leader-elect", ha, "")', 'var ha = true', false],
  ['one that disables it', 'f.Bool("no-leader-election", o.NoElection, "")', '', true],
  [
    'one that does by default',
    'f.Bool("no-leader-election", o.NoElection, "")',
    'return &Options{NoElection: true}',
    false,
  ],
])('whether the default of a flag leaves leader election on: %s', (name, flag, value, isOn) => {
  const isElsewhere = name.includes('of another package') || flag === OF_OPTIONS;
  const directory = isElsewhere ? '/checkout/options' : '/checkout';
  expect(electionFlagsIn([flag], [value, directory])).toHaveLength(isOn ? 1 : 0);
});

test('a default by any name counts in its own package', () => {
  expect(electionFlagsIn(['f.Bool("leader-elect", ha, "")'], ['const ha = true'])).toHaveLength(1);
});

const OF_CONSTANT = 'fs.BoolVar(&c.Elect, flagElect, true, "Elect.")';

test.each<[string, string, string, string[]]>([
  ['a constant', OF_CONSTANT, 'const flagElect = "leader-elect"', ['leader-elect']],
  [
    'one with an alignment',
    OF_CONSTANT,
    'flagElect    = "enable-leader-election"',
    ['enable-leader-election'],
  ],
  ['one with a type', OF_CONSTANT, 'const flagElect string = "leader-elect"', ['leader-elect']],
  [
    'one of another package',
    'f.BoolP(options.Elect, "l", true, "")',
    'const Elect = "leader-elect"',
    ['leader-elect'],
  ],
  ['one that is off', 'f.Bool(flagElect, false, "")', 'const flagElect = "leader-elect"', []],
  ['one of another setting', OF_CONSTANT, 'const flagElect = "leader-election-id"', []],
  ['an unknown one', OF_CONSTANT, '', []],
  ['a common name of another package', 'f.Bool(name, true, "")', 'const name = "leader-elect"', []],
])('a flag whose name is a constant: %s', (name, flag, constant, expected) => {
  const directory = name.includes('of another package') ? '/checkout/options' : '/checkout';
  expect(electionFlagsIn([flag], [constant, directory]).map((one) => one.flag)).toEqual(expected);
});

test('a constant by any name counts in its own package', () => {
  expect(electionFlagsIn(['f.Bool(name, true, "")'], ['const name = "leader-elect"'])).toHaveLength(1);
});

const CLIENT = 'package main\nimport "k8s.io/client-go/tools/clientcmd"\n';
const COMMANDS = `
func NewController() *cobra.Command {
	command := &cobra.Command{Use: "controller-service", Short: "Runs it."}
	FLAG
	return command
}
`;

test.each([
  ['command.Flags().BoolVar(&on, "leader-election", true, "Elect.")', 'controller-service'],
  ['fs := command.Flags()\n	options.BindLeaderElectionFlags(&o.LeaderElection, fs)', 'controller-service'],
  ['command.PersistentFlags().BoolVar(&on, "leader-election", true, "Elect.")', undefined],
  ['other.Flags().BoolVar(&on, "leader-election", true, "Elect.")', null],
])('whose flag it is: %s', (text, command) => {
  const [found] = electionFlagsIn([COMMANDS.replace('FLAG', text)]);
  expect(found).toMatchObject({ directory: '/checkout' });
  expect(found!.command).toBe(command);
});

test.each([
  ['command.Flags().StringVar(&file, "kubeconfig", "", "A file.")', ['controller-service']],
  ['command.PersistentFlags().StringVar(&file, "kubeconfig", "", "A file.")', [undefined]],
  ['file := flag.String(clientcmd.RecommendedConfigPathFlag, "", "A file.")', [undefined]],
  ['command.Flags().StringVar(&file, "config", "", "A file.")', []],
])('whose flag for the kubeconfig it is: %s', (text, expected) => {
  const sources = sourcesOf({ '/checkout/main.go': CLIENT + COMMANDS.replace('FLAG', text) });
  const found = definedFlags(sources).filter(isKubeconfigFlag);
  expect(found.map(({ directory, command }) => [directory, command])).toEqual(
    expected.map((command) => ['/checkout', command]),
  );
});
