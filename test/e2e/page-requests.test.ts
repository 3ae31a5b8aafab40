import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { detailOf } from '../../src/page/detail.ts';
import { type PageServer, startPageServer } from '../../src/page/server.ts';
import type { CauseEvent } from '../../src/report/call.ts';
import type { ReviewSummary } from '../../src/report/review.ts';
import { expectAccessible } from '../support/accessible.ts';
import { type Browser, startBrowser, type Tab } from '../support/browser.ts';
import { callOf, reconcileOf, reviewOf } from '../support/session-facts.ts';
import { type FakeSession, fakeSession } from '../unit/page/fake-session.ts';

const ASSETS = join(import.meta.dirname, '../../dist/page');
const MARKUP = '<img src=x onerror="document.title=`taken`"><script>document.title="taken"</script>';
const web = { namespace: 'default', name: 'application-sample' };
const at = (ms: number): string => new Date(Date.parse('2026-11-22T10:15:00Z') + ms).toISOString();

let browser: Browser;
let session: FakeSession;
let server: PageServer;
let tab: Tab;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.[Symbol.asyncDispose]());

beforeEach(async () => {
  session = fakeSession({
    review: async (id) => {
      const found = session.recorded.find((one) => one.id === id);
      return found && detailOf(recordOf(found));
    },
  });
  server = await startPageServer(session, (file) => readFile(join(ASSETS, file)));
  tab = await browser.open();
});
afterEach(async () => {
  await tab.close();
  await server[Symbol.asyncDispose]();
});

const review = (number: number, ms: number, more: Partial<ReviewSummary> = {}): ReviewSummary =>
  reviewOf(number, { at: at(ms), object: web, uid: `u${number}`, ...more });

const REFUSED = 'Required value: an Application needs an image';

function recordOf(summary: ReviewSummary): Parameters<typeof detailOf>[0] {
  const object = (generation: number, port: number): object => ({
    metadata: { ...web, generation },
    spec: { port, ports: [{ name: 'http' }] },
  });
  const causes = [
    { field: 'spec.ports[0].name', message: 'Invalid value' },
    { field: 'spec.image', message: REFUSED },
  ];
  const isAllowed = summary.verdict === 'allowed';
  const patch = summary.patch && [{ op: 'add', path: '/spec/colour', value: 'blue' }];
  const answer = isAllowed ? { patch } : { status: { code: 422, details: { causes } } };
  return {
    v: 1,
    ...summary,
    request: {
      request: { uid: 'u', operation: 'UPDATE', object: object(2, 8080), oldObject: object(1, 80) },
    },
    response: { response: { uid: 'u', allowed: isAllowed, ...answer } },
  };
}

/** An apply, what its webhooks said, and what the controller then did: it wrote, which had a review, and was woken by that. */
function apply(): void {
  const event: CauseEvent = {
    at: at(20),
    kind: 'Application',
    ...web,
    what: 'created',
    by: 'kubectl-create',
  };
  const { reconcile } = reconcileOf(1);
  const write = callOf(1, { ...web, at: at(40), reconcile, reviews: ['u3'] });
  const mutating = { webhook: 'mapplication-v1.kb.io', webhookType: 'mutating' } as const;
  const deployment = { group: 'apps', version: 'v1', kind: 'Deployment' };
  session.recorded.push(
    review(1, 0, {
      ...mutating,
      patch: ['+spec.colour=blue'],
      pruned: [{ field: 'spec.colour', why: 'not-in-crd' }],
    }),
    review(2, 8, { webhook: 'vapplication-v1.kb.io', webhookType: 'validating' }),
    review(3, 45, { webhook: 'vdeployment-v1.kb.io', webhookType: 'validating', resource: deployment }),
  );
  session.called.push(
    write,
    reconcileOf(1, {
      ...web,
      at: at(30),
      after: [event],
      calls: [write],
      counts: { writes: 1, reads: 0, failed: 0 },
    }),
    reconcileOf(2, {
      ...web,
      at: at(60),
      after: [{ ...event, at: at(55), kind: 'Deployment', isOwn: true }],
    }),
  );
}

async function openPage(rows = 1): Promise<void> {
  await tab.use({});
  await tab.goto(server.url);
  await tab.until(`document.querySelectorAll('.rows [role=row]').length >= ${rows}`);
}

const text = (selector: string) =>
  tab.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
const rows = (): Promise<[string, string][]> =>
  tab.evaluate(`[...document.querySelectorAll('.rows [role=row]')].map((row) => [row.ariaLevel, row.id])`);
const until = (selector: string, says: string) =>
  tab.until(
    `document.querySelector(${JSON.stringify(selector)}).innerText.includes(${JSON.stringify(says)})`,
  );

it('shows an apply with its reviews and the reconciles that followed as one group that opens', async () => {
  apply();
  await openPage();
  expect(await rows()).toEqual([['1', 'g-r-000001']]);
  expect(await text('#g-r-000001 .said')).toContain('mutated: +spec.colour=blue');
  expect(await text('#g-r-000001 .members')).toMatch(/M\s*V\s*R\s*R/);
  await tab.click('#g-r-000001 .opener');
  await tab.until(`document.querySelectorAll('.rows [role=row]').length > 1`);
  expect(await rows()).toEqual([
    ['1', 'g-r-000001'],
    ['2', 'r-000001'],
    ['2', 'r-000002'],
    ['2', 'k-000001'],
    ['3', 'c-000001'],
    ['4', 'r-000003'],
    ['2', 'k-000002'],
  ]);
  expect(await text('#r-000001 .type')).toBe('mutating');
  expect(await text('#r-000002 .type')).toBe('validating');
  expect(await text('#k-000001 .said')).toContain('after: created by kubectl create');
  // A reconcile that follows later joins the group, too.
  server.called(
    reconcileOf(3, { ...web, at: at(80), after: session.called.flatMap((one) => one.after ?? []) }),
  );
  await tab.until(`document.querySelector('#k-000003')?.ariaLevel === '2'`);
  await tab.click('#g-r-000001');
  await until('#detail', 'k-000003');
  // What each entry did, and why, is below its name.
  await until('#detail .waterfall', 'after: created by kubectl create');
  await expectAccessible(tab);
});

it('opens and closes groups by keys, and goes from a review to the call and the reconcile that caused it', async () => {
  apply();
  await openPage();
  await tab.evaluate(`document.querySelector('[role=treegrid]').focus()`);
  await tab.press('ArrowDown');
  await tab.press('ArrowRight');
  await tab.until(`document.querySelector('#g-r-000001').ariaExpanded === 'true'`);
  await tab.press('End');
  await tab.until(`document.querySelector('#k-000002').ariaSelected === 'true'`);
  await tab.press('ArrowLeft');
  await tab.until(`document.querySelector('#g-r-000001').ariaSelected === 'true'`);
  await tab.press('ArrowLeft');
  await tab.until(`document.querySelector('#g-r-000001').ariaExpanded === 'false'`);
  await tab.goto(
    `${await tab.evaluate<string>('location.pathname')}?open=r-000003`.replace(
      /^/,
      new URL(server.url).origin,
    ),
  );
  await until('#detail', 'For the controller’s own call c-000001');
  await tab.click('#detail .from .link');
  await until('#detail', 'in reconcile k-000001');
  await expectAccessible(tab);
  await tab.click('#detail .from .link');
  await until('#detail-title', 'Application default/application-sample');
  await until('#detail', 'log of k-000001');
  await until('#detail', 'created by kubectl create');
  await expectAccessible(tab);
});

it('finds reviews, reconciles and calls with one filter, and opens the groups in which it finds something', async () => {
  apply();
  session.called.push(callOf(2, { at: at(90), verb: 'list', isWrite: undefined as never, resource: 'pods' }));
  await openPage();
  const filter = async (query: string, ids: string[]): Promise<void> => {
    await tab.evaluate(`document.querySelector('#query').select()`);
    await tab.type(query);
    await tab.until(
      `[...document.querySelectorAll('.rows [role=row]')].map(({ id }) => id).join() === ${JSON.stringify(ids.join())}`,
    );
  };
  await filter('is:reconcile', ['g-r-000001', 'k-000001', 'k-000002']);
  await filter('writes kind:deployment', ['g-r-000001', 'c-000001']);
  await filter('webhook:vdeployment', ['g-r-000001', 'r-000003']);
  await filter('verb:list', ['c-000002']);
  await filter('webhook:mapplication', ['g-r-000001']);
});

it('shows which field was refused, folds what says nothing, and shows what is pruned', async () => {
  const message = `spec.image: ${REFUSED}`;
  session.recorded.push(
    review(1, 0, { patch: ['+spec.colour=blue'], pruned: [{ field: 'spec.colour', why: 'not-in-crd' }] }),
    review(2, 8, { webhook: 'second', verdict: 'denied', code: 422, message }),
  );
  await openPage();
  await tab.click('#g-r-000001 .opener');
  await tab.until(`document.querySelector('#r-000002') !== null`);
  await tab.click('#r-000002');
  await tab.until(`document.querySelectorAll('.diff .marked').length === 2`);
  expect(await text('.diff .marked')).toContain(`spec:← spec.image: ${REFUSED}`);
  expect(await tab.evaluate(`document.querySelectorAll('.diff .marked')[1].innerText`)).toContain(
    '- name: http← spec.ports[0].name: Invalid value',
  );
  expect(await text('.causes')).toMatch(/spec\.ports\[0\]\.name Invalid value\s+spec\.image/);
  expect(await text('.diff .fold')).toMatch(/where only generation differs/);
  await expectAccessible(tab);
  await tab.click('#r-000001');
  await tab.until(`document.querySelector('.diff .pruned')?.innerText.includes('colour: blue')`);
  expect(await text('#detail .note.pruned')).toContain("is not in the cluster's CRD");
  await tab.click('#tab-timing');
  await tab.until(`document.querySelector('.timing') !== null`);
  // 7 ms of 10 s.
  expect(await tab.evaluate(`document.querySelectorAll('.timing meter')[1].value`)).toBeCloseTo(0.23, 1);
});

it('shows an object that was refused as its YAML is, with its fields marked and without what kubectl keeps for itself', async () => {
  const message = `Application.shop "application-sample" is invalid: spec.image: ${REFUSED}`;
  session.review = async (id) => ({
    ...{ review: session.recorded.find((one) => one.id === id)!, redacted: 0 },
    parts: [
      {
        name: 'object',
        text: [
          'metadata:',
          '  annotations:',
          "    kubectl.kubernetes.io/last-applied-configuration: '{}'",
          '  name: web',
          'spec:',
          '  port: 80',
          '',
        ].join('\n'),
      },
    ],
    causes: [{ field: 'spec.image', message: REFUSED }],
  });
  session.recorded.push(review(1, 0, { verdict: 'denied', code: 422, message }));
  await openPage();
  // The row has the name already.
  expect(await text('#r-000001 .said')).toBe(`spec.image: ${REFUSED}`);
  await tab.click('#r-000001');
  await tab.until(`document.querySelector('#part pre .marked') !== null`);
  const lines = await tab.evaluate<string>(`document.querySelector('#part pre').innerText`);
  expect(lines).toContain(`spec: ← spec.image: ${REFUSED}\n  port: 80`);
  expect(lines).toContain('annotations:\nShow last-applied-configuration\n  name: web');
  const left = (line: number): Promise<number> =>
    tab.evaluate(`(() => {
      const range = document.createRange();
      const text = document.querySelectorAll('#part pre .line')[${line}].firstChild;
      const at = text.data.search(/\\S/);
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getBoundingClientRect().left;
    })()`);
  expect((await left(4)) - (await left(3))).toBeGreaterThan(10);
  await tab.click('#part .fold');
  await until('#part pre', "last-applied-configuration: '{}'");
  await expectAccessible(tab);
});

it('shows the timeline of an object, and reads it again when something happens', async () => {
  apply();
  const asked: unknown[] = [];
  session.timeline = async (object) => {
    asked.push(object);
    const [reconcile] = session.called.filter((one) => 'result' in one);
    return {
      left: 2,
      entries: [
        { type: 'reviews.listed', review: session.recorded[0]! },
        {
          type: 'timeline.changed',
          change: { at: at(20), kind: 'Application', ...web, what: 'created', by: 'ann' },
        },
        { type: 'reconciles.listed', reconcile: reconcile! },
        { type: 'timeline.logged', at: at(31), reconcile: 'x', line: `level=info ${MARKUP}` },
      ],
    };
  };
  await openPage();
  await tab.click('#g-r-000001');
  await tab.until(`document.querySelector('.timeline-of') !== null`);
  await tab.click('.timeline-of');
  await tab.until(`document.querySelectorAll('.timeline tbody tr').length === 4`);
  expect(asked).toEqual([{ kind: 'Application', ...web }]);
  expect(await text('#detail')).toMatch(
    /2 older[\s\S]*mutating CREATE[\s\S]*created by ann[\s\S]*k-000001[\s\S]*level=info <img/,
  );
  await expectAccessible(tab);
  server.reviewed(review(4, 100));
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBe(2);
});

it('shows warnings with what to do, and the timeline of what they are about', async () => {
  await openPage(0);
  const object = { kind: 'Deployment', namespace: 'default', name: 'web' };
  session.warned.push({
    at: at(0),
    code: 'calls.conflicts',
    message: `Again ${MARKUP}`,
    hint: 'Read it again:\n`devloop reconciles k-000001` shows more',
    object,
  });
  await tab.until(`document.querySelector('#show-warnings').innerText === 'Warnings 1'`);
  await tab.click('#show-warnings');
  await until('#detail', 'Read it again');
  expect(await text('.cards')).toContain(MARKUP.replaceAll('`', ''));
  expect(await text('.cards')).toContain('Read it again:\ndevloop reconciles k-000001 shows more');
  await expectAccessible(tab);
  await tab.click('.timeline-of');
  await until('#detail-title', 'Deployment default/web');
});

it('shows what has arrived before the browser draws its first frame', async () => {
  // What a slow machine puts off: frames, and the timer of Preact for a page that gets none.
  const source = `
    const frames = [];
    const [frame, timer] = [requestAnimationFrame, setTimeout];
    window.requestAnimationFrame = (draw) => frames.push(draw);
    window.setTimeout = (work, ms = 0) => timer(work, ms + 2_000);
    const drawNow = () => {
      [window.requestAnimationFrame, window.setTimeout] = [frame, timer];
      for (const draw of frames) draw(0);
    };`;
  await tab.send('Page.addScriptToEvaluateOnNewDocument', { source });
  await openPage(0);
  // All of the state comes with the first event, which asks for another frame.
  await tab.until('frames.length >= 2');
  await tab.evaluate('new Promise((resolve) => timer(resolve, 300)).then(drawNow)');
  await tab.until(`document.querySelector('.facts') !== null`);
});

it('adds faults, and switches them off and on', async () => {
  // What is clicked before the first state has arrived is where it stays.
  const top = `document.querySelector('#show-faults').getBoundingClientRect().top`;
  await tab.send('Fetch.enable', { patterns: [{ urlPattern: '*/api/events' }] });
  await openPage(0);
  const before = await tab.evaluate(top);
  await tab.click('#show-faults');
  await tab.send('Fetch.disable');
  await tab.until(`document.querySelector('.facts') !== null`);
  expect(await tab.evaluate(top)).toBe(before);
  await tab.until(`document.querySelector('.examples') !== null`);
  await tab.click('.examples button');
  await tab.until(`document.querySelector('#rule').value === '409 update share=50%'`);
  await tab.click('.add-fault [type=submit]');
  await tab.until(`document.querySelector('[role=switch]')?.ariaChecked === 'true'`);
  expect(session.faulty).toMatchObject([{ rule: '409 update share=50%' }]);
  expect(
    await tab.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('#detail'))`,
    ),
  ).toBe(0);
  await tab.until(`document.querySelector('#show-faults').innerText === 'Faults 1'`);
  await expectAccessible(tab);
  session.faulty.push({ id: '10', rule: 'cut watch', seen: 2, met: 1, isOver: false });
  await tab.until(`document.querySelectorAll('[role=switch]').length === 2`);
  await tab.evaluate(`document.querySelector('[role=switch]').focus()`);
  await tab.press(' ');
  await tab.until(`document.querySelector('[role=switch]')?.ariaChecked === 'false'`);
  expect(session.faulty).toMatchObject([{ rule: 'cut watch' }]);
  // It is where it was, with the focus, so the next key switches the same one.
  expect(await tab.evaluate('document.activeElement.innerText.trim()')).toBe('409 update share=50%');
  await tab.press(' ');
  await tab.until(`document.querySelector('[role=switch]')?.ariaChecked === 'true'`);
  expect(session.faulty.map(({ rule }) => rule)).toEqual(['cut watch', '409 update share=50%']);
  await tab.click('.faults li:last-child button:last-child');
  await tab.until(`document.querySelectorAll('[role=switch]').length === 1`);
  expect(session.faulty).toMatchObject([{ rule: '409 update share=50%' }]);
});

it.each([1024, 1280, 1600])(
  'is readable at %i px with a detail open: one line of header, no name, webhook, status or time cut',
  async (width) => {
    apply();
    await openPage();
    await tab.click('#g-r-000001 .opener');
    await tab.until(`document.querySelector('#r-000001') !== null`);
    await tab.click('#r-000001');
    await tab.until(`document.querySelector('.diff') !== null`);
    await tab.use({ width });
    await tab.until(`innerWidth === ${width}`);
    const cut = `[...document.querySelectorAll('#r-000001 > *, #k-000001 > *')]
    .filter((cell) => /^(?:subject|status|via|took|at)$/.test(cell.className))
    .filter((cell) => cell.clientWidth === 0 || cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText)`;
    expect(await tab.evaluate(cut)).toEqual([]);
    expect(await tab.evaluate(`document.querySelector('header').clientHeight`)).toBeLessThan(40);
    expect(await tab.evaluate(`document.documentElement.scrollWidth`)).toBe(width);
  },
);

it('takes the text of the cluster and of the controller for text', async () => {
  const name = MARKUP;
  const { reconcile } = reconcileOf(1);
  const write = callOf(1, {
    name,
    reconcile,
    at: at(1),
    code: 500,
    message: MARKUP,
    changes: [MARKUP],
    warnings: [MARKUP],
  });
  session.called.push(
    write,
    reconcileOf(1, { name, at: at(0), controller: MARKUP, error: MARKUP, result: 'error', calls: [write] }),
  );
  session.reconcile = async () => ({ reconcile: session.called[1] as never, log: [MARKUP] });
  await openPage();
  await tab.click('#k-000001 .opener');
  await tab.until(`document.querySelector('#c-000001') !== null`);
  for (const id of ['c-000001', 'k-000001']) {
    await tab.click(`#${id}`);
    await until('#detail-title', MARKUP);
    await tab.until(`document.querySelector('#detail .exports') !== null`);
  }
  await until('#detail .logged', MARKUP);
  expect(await tab.evaluate(`document.querySelectorAll('img, body script').length`)).toBe(0);
  expect(tab.complaints).toEqual([]);
});
