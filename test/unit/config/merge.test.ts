import { describe, expect, it } from 'vitest';
import { controllerSettings, mergeSettings, type Place } from '../../../src/config/merge.ts';
import { parseConfig } from '../../../src/config/parse.ts';
import { type Config, type Given, KEYS, type Key, rowOf, valueIn } from '../../../src/config/table.ts';
import { withSetting } from '../../support/settings.ts';

/**
 * For each setting, another value than its example, and what applies if nobody sets it. A new setting needs a row: what it is without a row
 * here, no test knows.
 */
const WALK: Record<Key, { other: string; byDefault?: unknown }> = {
  context: { other: 'kind-other' },
  allowContexts: { other: '[other]' },
  namespace: { other: 'other' },
  service: { other: 'other' },
  deployment: { other: 'other' },
  onTimeout: { other: 'deny', byDefault: 'fail' },
  api: { other: 'direct', byDefault: 'proxy' },
  identity: { other: 'shop/manager' },
  faults: { other: '409 update' },
  redact: { other: '..pin' },
  pause: { other: 'lease', byDefault: 'auto' },
  alsoPause: { other: 'none' },
  route: { other: 'ssh:dev@bastion', byDefault: 'auto' },
  address: { other: 'fd00::1' },
  port: { other: '9443' },
  allowFrom: { other: 'fd00::/8' },
  relayImage: { other: 'node:24' },
  'certificates.secret': { other: 'shop/other' },
  'certificates.directory': { other: 'other' },
  'controller.package': { other: '.' },
  'controller.build': { other: '[make, manager]' },
  'controller.generate': { other: '[make, crds]' },
  'controller.run': { other: 'bin/manager' },
  'controller.watch': { other: '[.]' },
  'controller.env': { other: '{ A: b }' },
  'controller.log': { other: 'off', byDefault: 'warnings' },
  'controller.readySeconds': { other: '1', byDefault: 120 },
  'controller.graceSeconds': { other: '1', byDefault: 10 },
};

function configWith(key: Key, text: string): Config {
  const parsed = parseConfig(withSetting(key, text));
  if ('problems' in parsed) throw new Error(parsed.problems[0]!.message);
  return parsed.config;
}

const settingOf = (key: Key, sources: { given?: Given; env?: Record<string, string>; config?: Config }) =>
  mergeSettings({ given: {}, env: {}, config: {}, ...sources })[key];

describe.each(KEYS)('%s', (key) => {
  const { example, flag, variable, isAdded } = rowOf(key);
  const { other, byDefault } = WALK[key];
  const config = configWith(key, example);
  const inFile = valueIn(config, key);
  const otherValue = valueIn(configWith(key, other), key);
  const given = { [key]: otherValue } as Given;
  const is = (value: unknown, ...from: Place[]) => ({ value, from });

  it('comes from its default, then from devloop.yaml', () => {
    expect(otherValue).not.toEqual(inFile);
    expect(settingOf(key, {})).toEqual(is(byDefault, 'default'));
    expect(settingOf(key, { config })).toEqual(is(inFile, 'devloop.yaml'));
  });

  it.runIf(variable !== undefined)('comes from its variable before devloop.yaml', () => {
    const env = { [variable!]: other };
    expect(settingOf(key, { env })).toEqual(is(otherValue, 'environment'));
    expect(settingOf(key, { env, config })).toEqual(is(otherValue, 'environment'));
  });

  it.runIf(flag !== undefined)('comes from its flag before all others', () => {
    const env = variable === undefined ? {} : { [variable]: example };
    expect(settingOf(key, { given, env })).toEqual(is(otherValue, 'flag'));
    const all = settingOf(key, { given, env, config });
    if (isAdded) expect(all).toEqual(is([otherValue, inFile].flat(), 'flag', 'devloop.yaml'));
    else expect(all).toEqual(is(otherValue, 'flag'));
  });
});

it('what the command line says about the program replaces what devloop.yaml says about it', () => {
  const config: Config = { controller: { build: ['make'], run: ['bin/manager'] } };
  const byPackage = mergeSettings({ given: { 'controller.package': './cmd' }, env: {}, config });
  expect(controllerSettings(byPackage)).toEqual({
    ...{ package: './cmd', log: 'warnings', readySeconds: 120, graceSeconds: 10, isNamedByFlag: true },
  });
  const run = ['python', 'main.py'];
  const byCommand = mergeSettings({
    given: { 'controller.run': run },
    env: {},
    config: { controller: { build: ['make'], package: './cmd' } },
  });
  expect(controllerSettings(byCommand)).toMatchObject({ build: ['make'], run, isNamedByFlag: true });
  expect(byCommand['controller.package']).toEqual({ value: undefined, from: ['default'] });
});

it('a variable with another form is an error with its name, and an empty one counts as unset', () => {
  const refused = expect.objectContaining({
    ...{ code: 'usage.invalid', message: expect.stringContaining("DEVLOOP_NAMESPACE is 'A_B'") },
    hint: expect.stringContaining('unset it'),
  });
  expect(() => settingOf('namespace', { env: { DEVLOOP_NAMESPACE: 'A_B' } })).toThrow(refused);
  const config = configWith('namespace', 'shop');
  expect(settingOf('namespace', { env: { DEVLOOP_NAMESPACE: '' }, config })).toEqual({
    ...{ value: 'shop', from: ['devloop.yaml'] },
  });
});
