import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServedReview } from '../../../src/gateway/hooks.ts';
import { crdFieldsOf } from '../../../src/operator/crd-fields.ts';
import { detailOf } from '../../../src/page/detail.ts';
import { summaryOf } from '../../../src/reviews/record.ts';
import { sectionsOf } from '../../../src/reviews/show.ts';
import { recordOf } from '../../../src/reviews/summarize.ts';

const ms = { held: 0, controller: 7, total: 8, budget: 10_000 };
const calls = [
  {
    path: '/validate',
    name: 'vapplication.kb.io',
    rules: [{ apiGroups: ['shop'], resources: ['*'], operations: ['*'] }],
  },
  { path: '/convert', name: 'applications.shop' },
];
const request = {
  uid: 'u',
  kind: { group: 'shop', version: 'v1', kind: 'Application' },
  resource: { group: 'shop', version: 'v1', resource: 'applications' },
  operation: 'CREATE',
  namespace: 'default',
  name: 'web',
  userInfo: { username: 'ann' },
  object: { kind: 'Application', metadata: { name: 'web' }, spec: { token: 'hunter2' } },
};

function served(body: unknown, answer: unknown, status = 200): ServedReview {
  const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  const answered = answer === undefined ? undefined : { status, headers: [], body: bytes(answer) };
  return { url: '/validate?timeout=10s', port: 9443, at: 0, body: bytes(body), answer: answered, ms };
}

function admission(response: object, of: object = request) {
  return recordOf(served({ kind: 'AdmissionReview', request: of }, { kind: 'AdmissionReview', response }), {
    id: 'r-000001',
    calls,
  });
}

describe('an admission review', () => {
  it('is recorded with what it asked for', () => {
    expect(admission({ uid: 'u', allowed: true })).toMatchObject({
      v: 1,
      id: 'r-000001',
      at: '1970-01-01T00:00:00.000Z',
      kind: 'admission',
      webhook: 'vapplication.kb.io',
      path: '/validate',
      operation: 'CREATE',
      resource: request.kind,
      object: { namespace: 'default', name: 'web' },
      user: 'ann',
      verdict: 'allowed',
      ms,
      redacted: 1,
    });
  });

  it('never keeps a secret', () => {
    const patch = Buffer.from('[{"op":"add","path":"/spec/password","value":"hunter2"}]').toString('base64');
    const record = admission({ allowed: true, patchType: 'JSONPatch', patch });
    expect(JSON.stringify(record)).not.toContain('hunter2');
    expect(record.patch).toEqual(['+spec.password=<redacted 7 bytes>']);
  });

  it('keeps the patch of a Secret without its values, although the answer names no kind', () => {
    const patch = Buffer.from('[{"op":"add","path":"/data/user","value":"YWRtaW4="}]').toString('base64');
    const record = admission(
      { allowed: true, patch },
      { ...request, kind: { group: '', version: 'v1', kind: 'Secret' } },
    );
    expect(JSON.stringify(record)).not.toContain('YWRtaW4=');
  });

  it('is denied with a message, or warns', () => {
    const status = { code: 403, message: 'spec.image: Required value' };
    expect(admission({ allowed: false, status, warnings: ['old field'] })).toMatchObject({
      verdict: 'denied',
      code: 403,
      message: 'spec.image: Required value',
      warnings: ['old field'],
    });
  });

  it('has the name that will be generated', () => {
    const object = { metadata: { generateName: 'web-' } };
    expect(admission({ allowed: true }, { ...request, name: '', object }).object?.name).toBe('web-*');
  });

  it.each([
    [
      'a DELETE, which has the old object only',
      { operation: 'DELETE', object: null, oldObject: request.object, name: '' },
      'web',
    ],
    ['a dry run', { dryRun: true }, 'web'],
  ])('%s', (_, change, name) => {
    expect(admission({ allowed: true }, { ...request, ...change })).toMatchObject({ object: { name } });
  });
});

describe('a patch of a custom resource', () => {
  const schema = { type: 'object', properties: { spec: { type: 'object', properties: { size: {} } } } };
  const versions = [{ name: 'v1', storage: true, schema: { openAPIV3Schema: schema } }];
  const definition = {
    metadata: { name: 'applications.shop' },
    spec: { group: 'shop', names: request.kind, versions },
  };
  const patch = [
    { op: 'add', path: '/spec/size', value: 1 },
    { op: 'add', path: '/spec/colour', value: 'red' },
  ];
  const prunedOf = (response: object, of: object = {}) =>
    recordOf(
      served(
        { kind: 'AdmissionReview', request: { ...request, ...of } },
        { kind: 'AdmissionReview', response: { patch: base64(JSON.stringify(patch)), ...response } },
      ),
      { id: 'r-000001', calls, crds: [crdFieldsOf(definition)!] },
    ).pruned;

  it('is recorded with the fields that the CRD lacks, if the object is stored', () => {
    expect(prunedOf({ allowed: true })).toEqual([{ field: 'spec.colour', why: 'not-in-crd' }]);
    expect(prunedOf({ allowed: false })).toBeUndefined();
    expect(prunedOf({ allowed: true }, { operation: 'DELETE' })).toBeUndefined();
    expect(prunedOf({ allowed: true }, { subResource: 'status' })).toBeUndefined();
    const other = { ...request.kind, group: 'other' };
    expect(prunedOf({ allowed: true }, { kind: other })).toBeUndefined();
  });
});

it('records a conversion', () => {
  const objects = [
    { apiVersion: 'shop/v1', kind: 'Application' },
    { apiVersion: 'shop/v1', kind: 'Application' },
  ];
  const body = { kind: 'ConversionReview', request: { uid: 'u', desiredAPIVersion: 'shop/v2', objects } };
  const answer = {
    kind: 'ConversionReview',
    response: { uid: 'u', result: { status: 'Success' }, convertedObjects: objects },
  };
  const review = { ...served(body, answer), url: '/convert?timeout=30s' };
  expect(recordOf(review, { id: 'r-000001', calls })).toMatchObject({
    kind: 'conversion',
    webhook: 'applications.shop',
    from: ['shop/v1'],
    to: 'shop/v2',
    objects: 2,
    verdict: 'converted',
  });
});

it('a conversion is named after the CRD of its kind, where several share a path', () => {
  const calls = ['Basket', 'Order', 'Item'].map((converts) => ({
    path: '/convert',
    name: `${converts.toLowerCase()}s.shop`,
    converts,
  }));
  const objects = [{ apiVersion: 'shop/v1', kind: 'Order', metadata: { name: 'one' } }];
  const body = { kind: 'ConversionReview', request: { uid: 'u', desiredAPIVersion: 'shop/v2', objects } };
  const review = { ...served(body, {}), url: '/convert' };
  expect(recordOf(review, { id: 'r-000001', calls }).webhook).toBe('orders.shop');
});

it('a conversion is not named after a CRD of a group that ends in the same way', () => {
  const conversions = ['applications.shop', 'applications.old.shop'].map((name) => ({
    path: '/convert',
    name,
  }));
  const body = { kind: 'ConversionReview', request: { uid: 'u', desiredAPIVersion: 'shop/v2', objects: [] } };
  const review = { ...served(body, {}), url: '/convert' };
  const { webhook } = recordOf(review, { id: 'r-000001', calls: conversions });
  expect(webhook).toBe('applications.shop');
});

it('shows the objects of a conversion before and after it, and what it changed', () => {
  const objects = [1, 2].map((replicas) => ({ apiVersion: 'shop/v1', kind: 'Application', replicas }));
  const convertedObjects = objects.map(({ replicas, kind }) => ({
    apiVersion: 'shop/v2',
    kind,
    scale: { replicas },
  }));
  const body = { kind: 'ConversionReview', request: { uid: 'u', desiredAPIVersion: 'shop/v2', objects } };
  const sections = (response: object) =>
    new Map(
      sectionsOf(
        recordOf(served(body, { kind: 'ConversionReview', response }), { id: 'r-000001', calls }),
      ).map(({ title, text }) => [title, text]),
    );
  const done = sections({ uid: 'u', result: { status: 'Success' }, convertedObjects });
  expect(done.get('objects')).toMatch(/shop\/v1[\s\S]*replicas: 1\n---\n[\s\S]*replicas: 2$/);
  expect(done.get('converted objects')).toMatch(/shop\/v2[\s\S]*\n---\n[\s\S]*replicas: 2$/);
  expect(done.get('changed by the webhook')?.split('\n')).toEqual(
    expect.arrayContaining([
      '-apiVersion: shop/v1',
      '+apiVersion: shop/v2',
      '-replicas: 2',
      '+  replicas: 2',
    ]),
  );
  expect(done.get('answer')).toBe('result:\n  status: Success');
  const failed = sections({ uid: 'u', result: { status: 'Failure', message: 'no field scale' } });
  expect([...failed.keys()]).toEqual(['objects', 'answer']);
  expect(failed.get('answer')).toContain('no field scale');
});

it('reads an answer that the controller has compressed, as kube-apiserver allows it to', () => {
  const answerOf = (value: unknown, status = 200) => {
    const body = gzipSync(JSON.stringify(value));
    const review = served({ kind: 'AdmissionReview', request }, '', status);
    const answer = { status, headers: ['content-encoding', 'gzip'], body };
    return recordOf({ ...review, answer }, { id: 'r-000001', calls });
  };
  const patch = Buffer.from('[{"op":"add","path":"/spec/token","value":"hunter2"}]').toString('base64');
  const record = answerOf({ kind: 'AdmissionReview', response: { uid: 'u', allowed: true, patch } });
  expect(record).toMatchObject({ verdict: 'allowed', patch: [expect.stringContaining('+spec.token')] });
  expect(JSON.stringify(record)).not.toContain('hunter2');
  expect(answerOf('panic', 500)).toMatchObject({ verdict: 'failed', message: '"panic"' });
  const large = answerOf({ kind: 'AdmissionReview', response: { text: 'x'.repeat(300_000) } });
  expect(large).not.toHaveProperty('response');
  expect(large.size!.response).toBeGreaterThan(300_000);
});

describe('a review whose answer was not kept', () => {
  const conversion = {
    ...{ kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' },
    request: { uid: 'u', desiredAPIVersion: 'shop/v2', objects: [{ kind: 'Application' }] },
  };

  it.each([
    ['an error of the controller', { kind: 'AdmissionReview', request }, 'panic: nil map', 'not JSON'],
    ['nothing, since its client was gone', { kind: 'AdmissionReview', request }, undefined, 'none'],
    ['nothing to a conversion', conversion, undefined, 'none'],
  ])('is shown with its object: %s', (_, body, answer, said) => {
    const record = recordOf(served(body, answer, 500), { id: 'r-000001', calls });
    const sections = sectionsOf(record);
    expect(sections[0]?.text).toContain('kind: Application');
    expect(sections.at(-1)).toMatchObject({ title: 'answer', text: expect.stringContaining(said) });
    const { notKept, parts } = detailOf(record);
    expect(notKept).toBeUndefined();
    const object = parts.find(({ name }) => name === 'object');
    expect(object?.text ?? '').toContain('kind: Application');
    expect(object?.before).toBeUndefined();
    expect(parts.at(-1)).toMatchObject({ name: 'response', text: sections.at(-1)!.text });
  });
});

it('says why devloop answered a conversion', () => {
  const body = { kind: 'ConversionReview', request: { uid: 'u', desiredAPIVersion: 'shop/v2', objects: [] } };
  const result = { status: 'Failure', code: 503, message: 'devloop: too late' };
  const answer = {
    ...{ status: 200, headers: [] },
    body: JSON.stringify({ kind: 'ConversionReview', response: { uid: 'u', result } }),
  };
  expect(recordOf({ ...served(body, {}), answer }, { id: 'r-000001', calls })).toMatchObject({
    ...{ kind: 'conversion', verdict: 'answered-by-devloop', code: 503, message: 'devloop: too late' },
  });
});

describe('what is not as it should be', () => {
  const asked = { kind: 'AdmissionReview', request };

  it.each([
    ['not JSON', served('{', { response: { allowed: true } }), { kind: 'unreadable', verdict: 'allowed' }],
    [
      'an answer that is no review',
      served(asked, '<html>'),
      { verdict: 'failed', message: expect.stringContaining('not a review') },
    ],
    [
      'another status',
      served(asked, 'no such path', 404),
      { verdict: 'failed', code: 404, message: 'no such path' },
    ],
    ['no client any more', served(asked, undefined), { verdict: 'unanswered' }],
    [
      'a patch that nobody can read',
      served(asked, { response: { allowed: true, patch: '[' } }),
      { verdict: 'allowed' },
    ],
  ])('%s', (_, review, expected) => {
    expect(recordOf(review, { id: 'r-000001', calls })).toMatchObject(expected);
  });

  const status = { code: 503, message: 'devloop: too late' };
  it.each([
    ['an error', 503, { kind: 'Status', ...status }, status],
    ['that it is denied', 200, { response: { allowed: false, status } }, status],
    ['that it is allowed', 200, { response: { allowed: true, warnings: ['late'] } }, { warnings: ['late'] }],
  ])("devloop's own answer, %s", (_, code, body, expected) => {
    const answer = { status: code, headers: [], body: JSON.stringify(body) };
    expect(recordOf({ ...served(asked, {}), answer }, { id: 'r-000001', calls })).toMatchObject({
      verdict: 'answered-by-devloop',
      ...expected,
    });
  });

  it('a request that is too large is kept as its size', () => {
    const large = served(
      { kind: 'AdmissionReview', request: { ...request, padding: 'x'.repeat(300_000) } },
      { response: { allowed: true } },
    );
    const record = recordOf(large, { id: 'r-000001', calls });
    expect(record.request).toBeUndefined();
    expect(record).toMatchObject({ verdict: 'allowed', size: { response: expect.any(Number) } });
  });

  it('anything gives a record', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (body, answer) => {
        for (const kind of ['AdmissionReview', 'ConversionReview'])
          recordOf(served(`{"kind":"${kind}","request":${body}}`, `{"response":${answer}}`), {
            id: 'r-000001',
            calls,
          });
      }),
    );
  });
});

describe('what anybody can send', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const body = (spec: string) =>
    `{"kind":"AdmissionReview","request":{"name":"web","object":{"kind":"Application","spec":${spec}},"oldObject":{"spec":${spec}}}}`;

  it.each([100, 5_000, 60_000])('is recorded and shown where it is nested %i levels deep', (levels) => {
    const patch = Buffer.from(`[{"op":"add","path":"/spec","value":${nested(levels)}}]`).toString('base64');
    const answer = { kind: 'AdmissionReview', response: { allowed: true, patch } };
    const record = recordOf(served(body(nested(levels)), answer), { id: 'r-000001', calls });
    expect(record).toMatchObject({ object: { name: 'web' }, verdict: 'allowed' });
    expect(JSON.stringify(record).length).toBeLessThan(2_000);
    expect(sectionsOf(record).map(({ title }) => title)).toContain('changed by the webhook');
  });

  it('is cut in the summary', () => {
    const name = 'x'.repeat(100_000);
    const objects = Array.from({ length: 10_000 }, (_, index) => ({ apiVersion: `shop/v${index}` }));
    const asked = { ...request, name, namespace: name, userInfo: { username: name } };
    const conversion = { kind: 'ConversionReview', request: { desiredAPIVersion: name, objects } };
    for (const record of [
      admission({ allowed: true }, asked),
      recordOf(served(conversion, {}), { id: 'r-000001', calls }),
    ])
      expect(JSON.stringify(summaryOf(record)).length).toBeLessThan(10_000);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
