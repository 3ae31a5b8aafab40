import { expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { givenBy } from '../../../src/cli/setting-flags.ts';
import { AFTER_DASHES, flagName } from '../../../src/config/flags.ts';
import { parseConfig } from '../../../src/config/parse.ts';
import { KEYS, rowOf, valueIn } from '../../../src/config/table.ts';
import { withSetting } from '../../support/settings.ts';

const COMMANDS = ['up', 'down', 'status', 'doctor', 'certs'] as const;

const flags = KEYS.flatMap((key) => {
  const { flag, example } = rowOf(key);
  return flag === undefined || flag.spelled === AFTER_DASHES ? [] : [{ key, flag, example }];
});

it.each(flags)(
  '$flag.spelled reads what devloop.yaml reads as $key, in the commands that have it',
  ({ key, flag, example }) => {
    const parsed = parseConfig(withSetting(key, example));
    const inFile = valueIn('config' in parsed ? parsed.config : {}, key);
    expect(inFile).toBeDefined();
    for (const name of COMMANDS) {
      const program = createProgram({ name: 'devloop', version: '', write() {}, run: async () => {} });
      const command = program.commands.find((one) => one.name() === name)!;
      const typed = [flagName(flag), example.replace(/^\['?(.*?)'?\]$/, '$1')];
      const { unknown } = command.parseOptions(typed);
      expect(unknown.length === 0, name).toBe(flag.of.includes(name));
      expect(givenBy(name, command.opts())[key]).toEqual(flag.of.includes(name) ? inFile : undefined);
    }
  },
);

it('takes the first value of a flag that is repeated for several sessions', () => {
  const flags = { deployment: ['shop/a', 'shop/b'], service: ['a', 'b'] };
  expect(givenBy('up', flags)).toEqual({ deployment: 'shop/a', service: ['a', 'b'] });
});

it.each(['up', 'doctor'])('the help of `%s` has each flag in a group', (name) => {
  const program = createProgram({ name: 'devloop', version: '', write() {}, run: async () => {} });
  const { options } = program.commands.find((one) => one.name() === name)!;
  expect(options.filter(({ helpGroupHeading }) => helpGroupHeading === undefined)).toEqual([]);
});
