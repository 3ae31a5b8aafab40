import { expect, test } from 'vitest';
import { namedVariables } from '../../../src/checkout/named-variables.ts';

const named = (text: string, ...wanted: string[]) => [...namedVariables([[text]], wanted)];

test.each<[string, string, string]>([
  ['a literal', 'os.Getenv("SHOP_MODE")', 'SHOP_MODE'],
  ['a constant', 'const mode = "SHOP_MODE"', 'SHOP_MODE'],
  ['a literal in backticks', 'os.Getenv(`SHOP_MODE`)', 'SHOP_MODE'],
  ['a tag', 'Mode string `env:"SHOP_MODE"`', 'SHOP_MODE'],
  ['a tag with options', 'Mode string `env:"SHOP_MODE,required" envDefault:"x"`', 'SHOP_MODE'],
  ['a tag of envconfig', 'Mode string `json:"mode" envconfig:"SHOP_MODE"`', 'SHOP_MODE'],
  ['a tag of go-arg', 'Mode string `arg:"--mode,env:SHOP_MODE"`', 'SHOP_MODE'],
  ['one of several in a tag', 'Mode string `env:"MODE,SHOP_MODE"`', 'SHOP_MODE'],
  ['a field of a flag', 'EnvVars: []string{"MODE", "SHOP_MODE"}', 'SHOP_MODE'],
  ['a prefix', 'os.Getenv("RELATED_IMAGE_" + name)', 'RELATED_IMAGE_PROXY'],
  ['a format', 'fmt.Sprintf("KUBE_FEATURE_%s", name)', 'KUBE_FEATURE_A'],
  ['a sum of literals', 'os.Getenv("SHOP" + "_MODE")', 'SHOP_MODE'],
  ['two literals', 'Namespace: "OTEL_EXPORTER_OTLP"\nWithURL("ENDPOINT")', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  [
    'a prefix and a field',
    'envconfig.Process("shop", &c)\ntype c struct {\n\tDatabaseURL string\n}',
    'SHOP_DATABASE_URL',
  ],
  [
    'a prefix and a plain field',
    'envconfig.MustProcess("shop", &c)\ntype c struct {\n\tMode string\n}',
    'SHOP_MODE',
  ],
  [
    'a field in a field',
    'envconfig.Process("shop", &c)\ntype c struct {\n\tDatabase struct {\n\t\tURL string\n\t}\n\tDatabase D\n}',
    'SHOP_DATABASE_URL',
  ],
  ['a field alone', 'envconfig.Process("", &c)\ntype c struct {\n\tMode string\n}', 'MODE'],
  [
    'a setting of viper',
    'viper.SetEnvPrefix("shop")\nviper.AutomaticEnv()\nviper.GetString("db.host-name")',
    'SHOP_DB_HOST_NAME',
  ],
  ['Python', "os.environ['SHOP_MODE']", 'SHOP_MODE'],
  ['JavaScript', 'const mode = process.env.SHOP_MODE ?? 1', 'SHOP_MODE'],
  ['JavaScript, unpacked', 'const { A, SHOP_MODE: mode = "x" } = process.env;', 'SHOP_MODE'],
  ['Rust', 'env::var("SHOP_MODE")', 'SHOP_MODE'],
  ['Java', `@Value("$\{SHOP_MODE:x}")`, 'SHOP_MODE'],
])('%s names a variable', (_, text, name) => {
  expect(named(text, name, 'OTHER')).toEqual([name]);
});

test.each<[string, string, string]>([
  ['a longer literal', '"SHOP_MODES"', 'SHOP_MODE'],
  ['a command', 'cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -i key")', 'GIT_SSH_COMMAND'],
  [
    'what the program sets',
    'os.Setenv("SHOP_MODE", "x"); t.Setenv(\n"SHOP_MODE", "x"); os.Unsetenv("SHOP_MODE")',
    'SHOP_MODE',
  ],
  ['a comment', '// SHOP_MODE is the mode', 'SHOP_MODE'],
  [
    'a prefix without fields',
    'envconfig.Process("git", &c)\ntype c struct {\n\tMode string\n}',
    'GIT_SSH_COMMAND',
  ],
  ['words that are no prefix', 'viper.AutomaticEnv()\n"git" "ssh" "command"', 'GIT_SSH_COMMAND'],
  ['fields without a library', '"shop"\ntype c struct {\n\tMode string\n}', 'SHOP_MODE'],
])('%s names no variable', (_, text, name) => {
  expect(named(text, name)).toEqual([]);
});

test('two literals count only in one package', () => {
  expect([...namedVariables([['"OTEL"'], ['"ENDPOINT"']], ['OTEL_ENDPOINT'])]).toEqual([]);
  expect([...namedVariables([['"OTEL"', '"ENDPOINT"']], ['OTEL_ENDPOINT'])]).toEqual(['OTEL_ENDPOINT']);
});
