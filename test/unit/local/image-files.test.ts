import { join } from 'node:path';
import { expect, test } from 'vitest';
import { placeImageFiles } from '../../../src/local/image-files.ts';
import { recordEvents } from '../controller/support/events.ts';
import { directoryWith } from '../controller/support/places.ts';

interface Case {
  to: string;
  paths?: string[];
  words?: string[];
  mounted?: string[];
  mayPlace?: boolean;
}

function place({ to, paths = [], words = [], mounted = [], mayPlace = true }: Case) {
  const { all, emit } = recordEvents();
  const file = { from: '/checkout/templates', to };
  const inputs = { imageFiles: [file], root: '/checkout', paths: new Set(paths), words, mounted, mayPlace };
  const placed = placeImageFiles(inputs, emit);
  const told = [...all('note'), ...all('warning')].map(({ code, values }) => [code, values]);
  return { isPlaced: placed.length === 1, told };
}

const AWAY = '/devloop-test-templates';

test.each<[string, Omit<Case, 'to'>]>([
  ['the sources', { paths: [AWAY] }],
  ['the sources, something below it', { paths: [`${AWAY}/a.tpl`] }],
  ['an argument', { words: [`--templates=${AWAY}/a.tpl`] }],
])(
  'what the image has of the checkout is in its place for the controller if it is named by %s',
  (_, named) => {
    expect(place({ to: AWAY, ...named })).toEqual({
      isPlaced: true,
      told: [['image-file.placed', { path: AWAY, from: 'templates' }]],
    });
  },
);

test.each<[string, Omit<Case, 'to'>]>([
  ['nothing names it', { paths: ['/devloop-test', `${AWAY}-more`], words: [`--templates=${AWAY}-more`] }],
  ['a volume covers it', { paths: [AWAY], mounted: [AWAY] }],
])('it is left out without a word where %s', (_, named) => {
  expect(place({ to: AWAY, ...named })).toEqual({ isPlaced: false, told: [] });
});

test('a warning says that it is not in its place, because of what is there, or of the system', async () => {
  const filled = await directoryWith({ 'a.tpl': '' });
  const missed = (to: string) => ({
    isPlaced: false,
    told: [['image-file.missing', { path: to, from: 'templates' }]],
  });
  expect(place({ to: filled, paths: [join(filled, 'a.tpl')] })).toEqual(missed(filled));
  expect(place({ to: AWAY, paths: [AWAY], mayPlace: false })).toEqual(missed(AWAY));
});
