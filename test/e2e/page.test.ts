import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { detailOf } from '../../src/page/detail.ts';
import { type PageServer, startPageServer } from '../../src/page/server.ts';
import type { SessionState } from '../../src/report/session-state.ts';
import type { ReviewRecord } from '../../src/reviews/record.ts';
import { expectAccessible } from '../support/accessible.ts';
import { type Browser, startBrowser, type Tab } from '../support/browser.ts';
import { reviewOf, waitingReview } from '../support/session-facts.ts';
import { type FakeSession, fakeSession } from '../unit/page/fake-session.ts';

const ASSETS = join(import.meta.dirname, '../../dist/page');
const MARKUP = '<img src=x onerror="document.title=`taken`"><script>document.title="taken"</script>';

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
    changes: async () => [
      {
        action: 'restore',
        object: { kind: 'Service', namespace: 'shop', name: 'webhook' },
        fields: [{ path: 'spec.selector', now: null, after: { app: 'shop' } }],
      },
      { action: 'delete', object: { kind: 'Lease', namespace: 'shop', name: 'devloop.service.webhook' } },
    ],
  });
  for (let number = 1; number <= 300; number++) {
    session.recorded.push(
      number % 3 === 0
        ? reviewOf(number, {
            verdict: 'denied',
            code: 422,
            message: 'spec.image: Required value',
            ms: { held: 0, controller: 700, total: 701, budget: 10_000 },
          })
        : reviewOf(number, {
            patch: ['+spec.replicas=1'],
            webhook: 'mapplication.kb.io',
            webhookType: 'mutating',
          }),
    );
  }
  server = await startPageServer(session, (file) => readFile(join(ASSETS, file)));
  tab = await browser.open();
});

afterEach(async () => {
  await tab.close();
  await server[Symbol.asyncDispose]();
});

function recordOf(summary: FakeSession['recorded'][number]): ReviewRecord {
  const metadata = {
    name: summary.object?.name,
    namespace: 'default',
    labels: { one: '1', two: '2', three: '3', four: '4' },
  };
  const object = {
    apiVersion: 'shop/v1',
    kind: 'Application',
    metadata,
    spec: { image: 'nginx', ports: [80, 443] },
  };
  const oldObject = { ...object, spec: { image: MARKUP, ports: [80] } };
  const patch = summary.patch && [{ op: 'add', path: '/spec/replicas', value: 1 }];
  return {
    v: 1,
    ...summary,
    request: { kind: 'AdmissionReview', request: { uid: 'u', operation: 'UPDATE', object, oldObject } },
    response: { response: { uid: 'u', allowed: summary.verdict === 'allowed', patch } },
    ...(summary.late ? { lateResponse: { response: { uid: 'u', allowed: false } } } : {}),
  };
}

const text = (selector: string) =>
  tab.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
const shown = (): Promise<string[]> =>
  tab.evaluate(`[...document.querySelectorAll('.rows [role=row]')].map(({ id }) => id)`);
const selected = `document.querySelector('[aria-selected=true][role=row]')`;

async function openPage(): Promise<void> {
  await tab.use({});
  await tab.goto(server.url);
  await tab.until(`document.querySelectorAll('.rows [role=row]').length > 10`);
}

async function filter(query: string): Promise<void> {
  await tab.evaluate(`document.querySelector('#query').select()`);
  await tab.type(query);
  await tab.until(`new URLSearchParams(location.search).get('q') === ${JSON.stringify(query)}`);
}

it('lists all in the order of time, follows what arrives, and only the rows that can be seen are in the document', async () => {
  await openPage();
  await tab.until(`document.querySelector('#r-000300') !== null`);
  const rows = await shown();
  expect(rows.at(-1)).toBe('r-000300');
  expect(rows.length).toBeLessThan(60);
  expect(await text('#r-000300')).toMatch(
    /CREATE Application default\/web-300\s+denied\s+vapplication\s+ann\s+spec\.image: Required value\s+701 ms\s+[\d:.]+\s+r-000300/,
  );
  expect(await text('#r-000299 .type')).toBe('mutating');
  server.reviewed(reviewOf(301));
  await tab.until(`document.querySelector('.rows [role=row]:last-child').id === 'r-000301'`);
  expect(await tab.evaluate('location.hash')).toBe('');
  expect(tab.complaints).toEqual([]);
});

it('shows the reviews without an answer above the list, until they are in it', async () => {
  await openPage();
  session.unanswered = [waitingReview()];
  await tab.until(`document.querySelector('.unanswered')?.innerText.includes('default/web-7')`);
  expect(await text('.unanswered')).toMatch(/waiting[\s\S]*3\.2 s of 10 s, held/);
  session.unanswered = [];
  server.reviewed(reviewOf(301));
  await tab.until(`document.querySelector('#r-000301') !== null`);
  expect(await tab.evaluate(`document.querySelector('.unanswered')`)).toBeNull();
});

it('shows what the controller answered after devloop had, beside it', async () => {
  const late = { verdict: 'denied', message: 'spec.image: Required value', totalMs: 41_000 } as const;
  session.recorded.push(reviewOf(301, { verdict: 'answered-by-devloop', message: 'devloop: too late' }));
  await openPage();
  await tab.until(`document.querySelector('#r-000301') !== null`);
  await tab.click('#r-000301');
  await tab.until(`document.querySelector('#detail .answer')?.innerText.includes('too late')`);
  session.recorded.at(-1)!.late = late;
  server.answeredLate({ id: 'r-000301', late });
  await tab.until(`document.querySelector('#detail .late')?.innerText.includes('denied after 41.0 s')`);
  await tab.click('#tab-late');
  await tab.until(`document.querySelector('#part').innerText.includes('allowed: false')`);
  await expectAccessible(tab);
  await tab.click('.close');
  await tab.until(
    `document.querySelector('#r-000301 .said').innerText.includes('later: the controller answered denied')`,
  );
});

it('lets somebody read: nothing moves when something arrives', async () => {
  await openPage();
  await tab.evaluate(`document.querySelector('[role=treegrid]').scrollTop = 2000`);
  await tab.until(`document.querySelector('.follow') !== null`);
  const top = `Math.round(document.querySelector('#r-000090').getBoundingClientRect().top)`;
  await tab.until(`document.querySelector('#r-000090') !== null`);
  const before = await tab.evaluate<number>(top);
  // It began before all others, so it is above what is read, and not below.
  server.reviewed(reviewOf(301, { at: '2026-11-22T10:00:00.000Z' }));
  await tab.until(`document.querySelector('#query-result').innerText === '301 lines'`);
  expect(await text('.follow')).toBe('Go to the newest');
  server.reviewed(reviewOf(302, { at: '2026-11-22T10:20:00.000Z' }));
  await tab.until(`document.querySelector('.follow').innerText === '1 new line below'`);
  expect(await tab.evaluate(top)).toBe(before);
  await tab.click('.follow');
  await tab.until(
    `document.querySelector('#r-000300') !== null && document.querySelector('.follow') === null`,
  );
  await tab.click('#clear');
  server.reviewed(reviewOf(303, { at: '2026-11-22T10:21:00.000Z' }));
  await tab.until(`document.querySelector('.rows').innerText.includes('r-000303')`);
  expect(await shown()).toEqual(['r-000303']);
  await tab.click('#clear');
  await tab.until(`document.querySelector('#query-result').innerText === '303 lines'`);
});

it('filters as devloop reviews list does, and keeps filter and review in its address', async () => {
  await openPage();
  await filter('verdict:denied slow:500 name:web-30');
  await tab.until(`document.querySelectorAll('.rows [role=row]').length === 2`);
  expect(await shown()).toEqual(['r-000030', 'r-000300']);
  expect(await text('#query-result')).toBe('2 of 300 lines');
  await tab.click('#r-000030');
  await tab.until(
    `document.querySelector('#detail .answer')?.innerText.includes('spec.image: Required value')`,
  );
  const address = await tab.evaluate<string>('location.href');
  await tab.goto(address);
  await tab.until(`document.querySelector('#detail h2')?.innerText.includes('web-30')`);
  // The review may arrive before the list.
  await tab.until(`document.querySelectorAll('.rows [role=row]').length > 0`);
  expect(await shown()).toEqual(['r-000030', 'r-000300']);
  await filter('verdict:perhaps');
  await tab.until(
    `document.querySelector('#query-faults').innerText.includes('verdict:perhaps is not one of allowed')`,
  );
  expect(await text('#query-faults mark')).toBe('verdict:perhaps');
  await tab.click('.kinds button:last-child');
  await tab.until(`document.querySelector('#query').value === 'failed verdict:perhaps'`);
  await tab.until(`document.querySelector('.kinds button:last-child').ariaPressed === 'true'`);
});

it('shows what the client and the webhook changed, side by side', async () => {
  await openPage();
  await tab.until(`document.querySelector('#r-000299') !== null`);
  await tab.click('#r-000299');
  await tab.until(`document.querySelectorAll('.diff .added').length === 1`);
  expect(await text('.diff .added')).toMatch(/added:\s+\+\s+replicas: 1/);
  expect(await text('.diff .fold')).toMatch(/Show \d+ unchanged lines/);
  const rows = await tab.evaluate<number>(`document.querySelectorAll('.diff tr').length`);
  await tab.click('.diff .fold');
  await tab.until(`document.querySelectorAll('.diff tr').length > ${rows}`);
  await tab.click('#tab-object');
  await tab.until(`document.querySelectorAll('.diff .removed').length === 1`);
  expect(await text('.diff .removed')).toContain('image: <img');
  for (const [part, says] of [
    ['request', 'operation: UPDATE'],
    ['response', 'path: /spec/replicas'],
    ['timing', 'Answered by the controller'],
  ]) {
    await tab.click(`#tab-${part}`);
    await tab.until(`document.querySelector('#part').innerText.includes('${says}')`);
  }
});

it('copies a review as a curl command and as a Go test', async () => {
  await openPage();
  await tab.send('Browser.grantPermissions', {
    permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'],
  });
  await tab.click('#r-000299');
  for (const [label, format] of [
    ['Copy as curl', 'curl'],
    ['Copy as Go test', 'go'],
  ]) {
    await tab.until(
      `[...document.querySelectorAll('.exports button')].some((one) => one.innerText === '${label}')`,
    );
    await tab.click(`.exports button:nth-child(${format === 'curl' ? 1 : 2})`);
    await tab.until(`await navigator.clipboard.readText() === '${format} r-000299'`);
    expect(await text('.exports [role=status]')).toBe('Copied. Values are replaced.');
  }
});

it('replays a review, where the session can, and shows how the answer differs', async () => {
  session.now.canReplay = false;
  await openPage();
  await tab.until(`document.querySelector('#r-000299') !== null`);
  await tab.click('#r-000299');
  await tab.until(`document.querySelector('.exports') !== null`);
  expect(await tab.evaluate(`document.querySelector('.replay')`)).toBeNull();
  session.now = { ...session.now, canReplay: true };
  await tab.until(`document.querySelector('.replay') !== null`);
  await tab.click('.replay button');
  await tab.until(`document.querySelector('.replay .added').innerText.trim() === '+new'`);
  await expectAccessible(tab);
  expect(session.acted).toEqual(['replay r-000299']);
});

it('shows which recorded reviews a new build answers differently', async () => {
  session.now.compared = { replayed: 41, changed: 2, ids: ['r-000003', 'r-000006'] };
  await openPage();
  await tab.until(`document.querySelectorAll('.compared button').length === 2`);
  expect(await text('.compared h2')).toContain('2 of 41 recorded reviews');
  await tab.click('.compared button');
  await tab.until(`document.querySelector('#detail-title').innerText.includes('web-3')`);
});

it('takes the text of the cluster for text', async () => {
  session.recorded.push(
    reviewOf(301, {
      verdict: 'denied',
      message: MARKUP,
      user: MARKUP,
      webhook: MARKUP,
      object: { name: MARKUP },
      warnings: [MARKUP],
    }),
  );
  session.now.compiler = MARKUP;
  session.now.state = { ...session.now.state, name: MARKUP };
  await openPage();
  await tab.until(`document.querySelector('#r-000301') !== null`);
  await tab.click('#r-000301');
  await tab.until(`document.querySelector('.diff .removed, #part pre') !== null`);
  await tab.click('#tab-object');
  await tab.until(`document.querySelector('.diff .removed') !== null`);
  expect(await tab.evaluate(`document.querySelectorAll('img, body script').length`)).toBe(0);
  expect(await tab.evaluate('document.title')).toBe(`${MARKUP}: devloop`);
  expect(await text('#detail .answer')).toContain(MARKUP);
  // If the page made that mistake, the browser would refuse it.
  await expect(tab.evaluate(`document.body.innerHTML = '<p>'`)).rejects.toThrow('TrustedHTML');
});

it('works by keys alone', async () => {
  await openPage();
  await tab.press('/');
  expect(await tab.evaluate('document.activeElement.id')).toBe('query');
  await tab.press('Tab');
  expect(await tab.evaluate('document.activeElement.getAttribute("role")')).toBe('treegrid');
  for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowDown']) await tab.press(key);
  await tab.until(`${selected}?.id === 'r-000299'`);
  expect(
    await tab.evaluate(`document.querySelector('[role=treegrid]').getAttribute('aria-activedescendant')`),
  ).toBe('r-000299');
  await tab.press('Home');
  await tab.until(`${selected}?.id === 'r-000001'`);
  await tab.press('End');
  await tab.press('ArrowUp');
  await tab.until(`${selected}?.id === 'r-000299'`);
  await tab.press('Enter');
  expect(await tab.evaluate('document.activeElement.id')).toBe('detail');
  await tab.until(`document.querySelector('[role=tab][aria-selected=true]')?.id === 'tab-patch'`);
  await tab.evaluate(`document.querySelector('[role=tab][aria-selected=true]').focus()`);
  await tab.press('ArrowRight');
  await tab.until(`document.querySelector('[role=tab][aria-selected=true]').id === 'tab-response'`);
  await tab.press('Escape');
  expect(await tab.evaluate('document.activeElement.getAttribute("role")')).toBe('treegrid');
  await tab.until(`${selected}?.id === 'r-000299'`);
  await tab.press('Escape');
  await tab.until(`document.querySelector('#detail') === null`);
  await tab.press('ArrowUp');
  await tab.until(`${selected}?.id === 'r-000298'`);
});

it('shows how the session is doing, and offers what it can do', async () => {
  await openPage();
  await tab.until(`document.querySelector('.buttons button')?.innerText === 'Hold reviews'`);
  await tab.click('.buttons button');
  await expect.poll(() => session.acted, { timeout: 10_000 }).toEqual(['hold']);
  expect(await tab.evaluate(`document.querySelectorAll('.buttons button')[1].innerText`)).toBe(
    'Restart controller',
  );
  await tab.click('.buttons button:nth-child(2)');
  await expect.poll(() => session.acted, { timeout: 10_000 }).toEqual(['hold', 'restart']);
  const facts = async (state: Partial<SessionState>, shown: string): Promise<void> => {
    session.now = { ...session.now, state: { ...session.now.state, ...state } };
    await tab.until(`document.querySelector('.facts').textContent.includes(${JSON.stringify(shown)})`);
  };
  await facts({}, '3f2a91c 10:14:58 +dirty');
  await facts({ build: { is: 'building', id: '3f2a91c' } }, '3f2a91c (a newer one is being built)');
  await facts({ build: { is: 'broken', id: '3f2a91c' } }, '3f2a91c (the newest source does not build)');
  await facts(
    { route: { name: 'ssh', address: '10.99.1.1:39939', isOpen: false } },
    'ssh 10.99.1.1:39939, lost',
  );
  await facts({ phase: 'held', isHeld: true, held: 3 }, 'held');
  await facts({ stoppedAt: 'webhook.go:42 in Default' }, 'webhook.go:42 in Default');
  await expectAccessible(tab);
  session.now = { ...session.now, actions: [] };
  await facts({ phase: 'ending' }, 'ending');
  expect(await tab.evaluate(`document.querySelectorAll('.buttons button').length`)).toBe(0);
});

it('says which build answered, and that it was the old one', async () => {
  session.recorded.push(reviewOf(301, { build: 'c0ffee1 10:15:00', isOldBuild: true }));
  await openPage();
  await tab.until(`document.querySelector('#r-000301') !== null`);
  expect(await text('#r-000301 .said')).toContain('the old build answered');
  await tab.click('#r-000301');
  await tab.until(`document.querySelector('#detail .old') !== null`);
  expect(await text('#detail')).toMatch(/answered by build c0ffee1 10:15:00.*The old build answered/s);
  await tab.click('#r-000300');
  await tab.until(`document.querySelector('#detail .old') === null`);
});

it('says that its link is not valid, and that a session has ended', async () => {
  await tab.goto(server.url.replace(/#.*/, '#wrong'));
  await tab.until(`document.querySelector('h1')?.innerText === 'This link is not valid'`);
  await openPage();
  await server[Symbol.asyncDispose]();
  await tab.until(`document.querySelector('.connection').innerText.startsWith('The session has ended.')`);
  expect(await text('.facts .state dd')).toBe('ended');
  expect((await shown()).length).toBeGreaterThan(10);
});

it('has nothing that an accessibility checker objects to, light and dark, wide and narrow', async () => {
  session.now.compiler = './main.go:3:2: undefined: x';
  session.now.compared = { replayed: 41, changed: 1, ids: ['r-000003'] };
  session.unanswered = Array.from({ length: 7 }, waitingReview);
  await openPage();
  await expectAccessible(tab);
  await tab.click('#show-changes');
  await tab.until(`document.querySelector('table.changes') !== null`);
  await expectAccessible(tab);
  await tab.until(`document.querySelector('#r-000299') !== null`);
  await tab.click('#r-000299');
  await tab.until(`document.querySelector('.diff') !== null`);
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [1280, 500]) {
      await tab.use({ scheme, width });
      await expectAccessible(tab, `${scheme} ${width}`);
    }
  }
  await tab.evaluate(`document.querySelector('#tab-timing').click()`);
  await tab.until(`document.querySelector('.timing') !== null`);
  await expectAccessible(tab);
  await filter('nothing has this');
  await tab.until(`document.querySelector('.none') !== null`);
  await expectAccessible(tab);
  await tab.goto(server.url.replace(/#.*/, '#wrong'));
  await tab.until(`document.querySelector('.refusal') !== null`);
  await expectAccessible(tab);
});
