import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stamped } from '../../../src/gateway/stamp.ts';

const WARNING = 'devloop: build 3f2a91c 10:14:58 answered';

function answered(value: unknown, status = 200) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { status, headers: ['Content-Type', 'application/json'], body: Buffer.from(text) };
}

it('adds its warning to those of the controller, and changes nothing else', () => {
  const response = { uid: 'u', allowed: false, status: { code: 422 }, warnings: ['old field'] };
  const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response };
  const { status, body } = stamped(answered(review), [WARNING]);
  expect(status).toBe(200);
  expect(JSON.parse(body.toString())).toEqual({
    ...review,
    response: { ...response, warnings: ['old field', WARNING] },
  });
});

it('is the only warning where the controller writes none as null', () => {
  const review = { kind: 'AdmissionReview', response: { uid: 'u', allowed: true, warnings: null } };
  const { body } = stamped(answered(review), [WARNING]);
  expect(JSON.parse(body.toString()).response).toEqual({ uid: 'u', allowed: true, warnings: [WARNING] });
});

it('is also on an answer that the controller has compressed', () => {
  const review = { kind: 'AdmissionReview', response: { uid: 'u', allowed: true } };
  const body = gzipSync(JSON.stringify(review));
  const headers = ['Content-Encoding', 'gzip', 'Content-Type', 'application/json'];
  const answer = stamped({ status: 200, headers, body }, [WARNING]);
  expect(answer.headers).toEqual(['Content-Type', 'application/json']);
  expect(JSON.parse(answer.body.toString()).response.warnings).toEqual([WARNING]);
  const cut = { status: 200, headers, body: body.subarray(0, -9) };
  expect(stamped(cut, [WARNING])).toBe(cut);
});

it('leaves whatever is not a well-formed answer to an admission review as it is', () => {
  const good = { kind: 'AdmissionReview', response: { uid: 'u', allowed: true } };
  const others = [
    answered(good, 500),
    answered('not JSON'),
    answered({ ...good, kind: 'ConversionReview' }),
    answered({ ...good, response: null }),
    answered({ ...good, response: { uid: 'u', allowed: 'yes' } }),
    answered({ ...good, response: { uid: 'u', allowed: true, warnings: [1] } }),
    { ...answered(good), body: JSON.stringify(good) },
  ];
  for (const answer of others) expect(stamped(answer, [WARNING])).toBe(answer);
  expect(stamped(others[0]!, [])).toBe(others[0]);
  fc.assert(fc.property(fc.json(), (text) => stamped(answered(text), [WARNING]).status === 200));
});
