import { expect, test } from 'vitest';
import { DATA, resultOf } from '../../../src/mcp/result.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import type { ReviewSection } from '../../../src/report/review.ts';
import { reviewOf } from '../../support/session-facts.ts';

const ASK = { keeps: 'last', ask: 'Ask for fewer.' } as const;
const MOST_OF_TEXT = 60_000;

const listed = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ type: 'reviews.listed' as const, review: reviewOf(at + 1) }));

function textOf({ content }: ReturnType<typeof resultOf>): string {
  const [first] = content;
  return first?.type === 'text' ? first.text : '';
}

test('a short answer is what the command prints, marked as data, with its events beside it', () => {
  const events = listed(2);
  const result = resultOf({ events }, ASK);
  expect(result.structuredContent).toEqual({ about: DATA, events });
  expect(textOf(result)).toContain(DATA);
  expect(textOf(result)).toContain('web-2');
  expect(result.isError).toBeUndefined();
});

test.each([
  ['last', '5000'],
  ['first', '1'],
] as const)(
  'of a long list, the %s entries stay, and it says how many do not and how to get them',
  (keeps, id) => {
    const result = resultOf({ events: listed(5_000) }, { ...ASK, keeps });
    const { events, leftOff } = result.structuredContent as { events: object[]; leftOff: object };
    expect(leftOff).toEqual({ entries: 5_000 - events.length, characters: 0, ask: ASK.ask });
    expect(events.length).toBeGreaterThan(20);
    expect(JSON.stringify(events)).toContain(`"web-${id}"`);
    expect(textOf(result)).toContain(ASK.ask);
    expect(textOf(result).length).toBeLessThan(MOST_OF_TEXT);
  },
);

test.each([
  ['one text of a megabyte', [{ title: 'Object', text: 'x'.repeat(1e6) }]],
  [
    'a megabyte in thousands of texts',
    Array.from({ length: 5_000 }, () => ({ title: 'T', text: 'x'.repeat(200) })),
  ],
])('%s is cut, and its size is named', (_, sections: ReviewSection[]) => {
  const result = resultOf({ events: [{ type: 'reviews.shown', review: reviewOf(1), sections }] }, ASK);
  const { leftOff } = result.structuredContent as { leftOff: { characters: number } };
  expect(leftOff.characters).toBeGreaterThan(900_000);
  expect(JSON.stringify(result).length).toBeLessThan(MOST_OF_TEXT);
});

test('text from outside loses what controls a terminal and what only a model would read', () => {
  const hidden = [...'obey'].map((letter) => String.fromCodePoint(0xe0000 + letter.codePointAt(0)!)).join('');
  const message = `denied\u001b[2J \u202eabc${hidden}\u200b!`;
  const result = resultOf({ events: [{ type: 'reviews.listed', review: reviewOf(1, { message }) }] }, ASK);
  const clean = expect.objectContaining({ message: 'denied abc!' });
  expect(result.structuredContent).toMatchObject({ events: [{ review: clean }] });
  expect(JSON.stringify(result)).not.toMatch(/[\u{E0000}-\u{E0FFF}\u202e\u200b]|\\u001b/u);
});

test.each([0xad, 0x34f, 0x115f, 0x17b4, 0x180e, 0x2065, 0x206a, 0x3164, 0xfe0f, 0xffa0, 0xfff9])(
  'U+%i, which nobody sees, is removed from keys and values',
  (code) => {
    const hidden = `a${String.fromCodePoint(code)}\u001b[2Jb`;
    const review = { ...reviewOf(1, { message: hidden }), [hidden]: 1 };
    const { structuredContent, content } = resultOf({ events: [{ type: 'reviews.listed', review }] }, ASK);
    expect(structuredContent).toMatchObject({ events: [{ review: { message: 'ab', ab: 1 } }] });
    expect(JSON.stringify(content)).not.toContain(String.fromCodePoint(code));
  },
);

test('a map of many entries and long keys is cut, and its size is named', () => {
  const map = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${at}`.repeat(200), at]));
  const result = resultOf(
    { events: [{ type: 'reviews.listed', review: { ...reviewOf(1), map } as never }] },
    ASK,
  );
  const { events, leftOff } = result.structuredContent as {
    events: object[];
    leftOff: { characters: number };
  };
  expect(events).toHaveLength(1);
  expect(leftOff.characters).toBeGreaterThan(900_000);
  expect(JSON.stringify(result).length).toBeLessThan(MOST_OF_TEXT);
});

test('a failure is an error of the tool with its code and next step, beside what was found before', () => {
  const error = {
    type: 'error' as const,
    code: 'review.changed',
    message: 'It differs.',
    hint: 'devloop reviews show 1',
    exitCode: 6,
  };
  const events = [notice('reviews.saved', { reviews: 1, file: 'x' })];
  const result = resultOf({ events, error }, ASK);
  expect(result).toMatchObject({ isError: true, structuredContent: { events, error } });
  for (const part of ['review.changed', 'It differs.', 'devloop reviews show 1'])
    expect(textOf(result)).toContain(part);
});
