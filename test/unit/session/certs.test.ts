import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { outputDirectory } from '../../../src/session/certs.ts';
import { settingsOf } from '../../support/settings.ts';

it('--output begins in the current directory, and certificates.directory at devloop.yaml', () => {
  const places = { cwd: '/shop/cmd', root: '/shop' };
  const config = { certificates: { directory: 'certs' } };
  const flag = { 'certificates.directory': 'out' };
  expect(outputDirectory({ ...places, settings: settingsOf(config, flag) })).toBe('/shop/cmd/out');
  expect(outputDirectory({ ...places, settings: settingsOf(config) })).toBe('/shop/certs');
  expect(outputDirectory({ ...places, settings: settingsOf() })).toContain(join(tmpdir(), 'k8s-webhook'));
});
