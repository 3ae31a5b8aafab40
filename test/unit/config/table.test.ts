import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/parse.ts';
import { KEYS, SETTINGS } from '../../../src/config/table.ts';
import { withSetting } from '../../support/settings.ts';

it.each(KEYS)('%s takes its example and its default, and no other type', (key) => {
  const row = SETTINGS[key];
  expect(parseConfig(withSetting(key, row.example))).not.toHaveProperty('problems');
  if (row.default !== undefined)
    expect(parseConfig(withSetting(key, String(row.default)))).not.toHaveProperty('problems');
  for (const wrong of ['', '[[x]]', '{ a: [] }'])
    expect(parseConfig(withSetting(key, wrong)), wrong).toMatchObject({
      problems: [{ message: expect.stringContaining(`\`${key}`) }],
    });
});

it('refuses as a main package what the go tool would take for a flag, as --package does', () => {
  expect(parseConfig('controller: { package: -modfile=x }')).toMatchObject({
    problems: [{ message: expect.stringContaining('expected a main package') }],
  });
});
