import { expect, test } from 'vitest';
import { settingsOfImage } from '../../../src/local/variables.ts';

const IMAGE = { imageFiles: [{ from: '/checkout/templates', to: '/templates' }], mounted: ['/certs'] };

test.each<[string, Record<string, string>, boolean]>([
  ['a value', { OPERATOR_VERSION: '5.12.0' }, true],
  ['a URL', { CATALOG: 'https://shop.example/catalog' }, true],
  ['a path that the image has of the checkout', { TEMPLATES: '/templates/a.tpl' }, true],
  ['a path in a volume', { CERTS: '/certs' }, true],
  ['a path that only the image has', { OPERATOR: '/usr/local/bin/shop' }, false],
  ['a list with such a path', { DIRS: '/templates:/opt/shop' }, false],
  ['what describes the container', { HOME: 'shop' }, false],
  ['what can run other code', { GOFLAGS: '-mod=vendor' }, false],
])('settings of an image: %s', (_, imageVariables, isSetting) => {
  expect(settingsOfImage({ imageVariables, ...IMAGE })).toEqual(isSetting ? imageVariables : {});
});
