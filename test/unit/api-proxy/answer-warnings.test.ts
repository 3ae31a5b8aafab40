import type { IncomingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { reviewMark, takeWarnings } from '../../../src/api-proxy/answer-warnings.ts';

/** As kube-apiserver writes it, and as Node reads that. */
const header = (...texts: string[]): string =>
  Buffer.from(texts.map((text) => `299 - "${text.replaceAll(/["\\]/g, '\\$&')}"`).join(', ')).toString(
    'latin1',
  );

it("takes the gateway's marks, and leaves the other warnings to the controller", () => {
  const headers: IncomingHttpHeaders = {
    warning: header(
      'unknown field "spec.colour"',
      reviewMark('7c2f-1'),
      'v1beta1, too, is \\ old',
      reviewMark('7c2f-2'),
    ),
    'audit-id': 'a',
  };
  expect(takeWarnings(headers)).toEqual({
    warnings: ['unknown field "spec.colour"', 'v1beta1, too, is \\ old'],
    reviews: ['7c2f-1', '7c2f-2'],
  });
  expect(headers).toEqual({
    warning: header('unknown field "spec.colour"', 'v1beta1, too, is \\ old'),
    'audit-id': 'a',
  });
});

it('leaves no empty header behind', () => {
  const headers: IncomingHttpHeaders = { warning: header(reviewMark('u')) };
  expect(takeWarnings(headers)).toEqual({ warnings: [], reviews: ['u'] });
  expect(headers).toEqual({});
  expect(takeWarnings({})).toEqual({ warnings: [], reviews: [] });
});

it('does not touch headers without a mark, whatever is in them', () => {
  const others = [header(`${reviewMark('u')} and more`), '299 - "cut', 'devloop: review u'];
  for (const warning of others) {
    const headers: IncomingHttpHeaders = { warning };
    expect(takeWarnings(headers).reviews).toEqual([]);
    expect(headers).toEqual({ warning });
  }
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
      expect(takeWarnings({ warning: header(...texts) }).warnings).toEqual(texts);
    }),
  );
});
