import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { groupsOf } from '../../src/page/groups.ts';
import { listed } from '../../src/page/listed.ts';
import { parseQuery } from '../../src/page/query.ts';
import { startPageServer } from '../../src/page/server.ts';
import { type Browser, startBrowser, type Tab } from '../support/browser.ts';
import { callOf, reconcileOf, reviewOf } from '../support/session-facts.ts';
import { fakeSession } from '../unit/page/fake-session.ts';
import { note, report } from './figures.ts';
import { ROUNDS, Rounds } from './measure.ts';

const ASSETS = join(import.meta.dirname, '../../dist/page');
/** As many as a session keeps of reviews, and as many of calls and reconciles. */
const EACH = 5_000;
const QUERIES = [
  'verdict:denied',
  'name:web-49',
  'user:ann slow:500',
  'replicas',
  'kind:Application image required',
  'writes failed',
  'nothing-has-this',
  '',
];

/** The page with as many reviews as a session keeps: how long it takes until the result of a filter is drawn, and the memory of the tab. */
export async function pageFigures(): Promise<void> {
  report({
    name: 'page: bundle, gzipped',
    ours: (await bundleBytes()) / 1000,
    unit: 'kB',
    goal: { most: 90 },
  });
  const session = fakeSession();
  for (let number = 1; number <= EACH; number++) {
    session.recorded.push(typical(number));
    session.called.push(number % 2 === 0 ? typicalReconcile(number) : typicalCall(number));
  }
  await using server = await startPageServer(session, (file) => readFile(join(ASSETS, file)));
  await using browser = await startBrowser();
  const tab = await browser.open();
  const before = await memoryOf(browser, tab);
  await tab.goto(server.url);
  const { all } = listed(groupsOf(session.recorded, session.called), parseQuery(''), () => undefined);
  await tab.until(`document.querySelector('#query-result').innerText === '${all} lines'`);
  note(
    `${2 * EACH} entries are listed ${Math.round(await tab.evaluate('performance.now()'))} ms after the page was opened`,
  );
  const rounds = new Rounds();
  for (let round = 0; round <= ROUNDS; round++) {
    const taken: Record<string, number> = {};
    for (const query of QUERIES) taken[query] = await tab.evaluate<number>(timeOf(query));
    if (round > 0) rounds.add(taken);
  }
  const slowest = QUERIES.toSorted((one, other) => rounds.median(other) - rounds.median(one))[0]!;
  report({
    name: `page: slowest of ${QUERIES.length} filters of ${2 * EACH} entries`,
    ours: rounds.median(slowest),
    unit: 'ms',
    goal: { most: 100 },
  });
  note(
    `that is ${JSON.stringify(slowest)}; the slowest of all rounds took ${Math.max(...QUERIES.flatMap((one) => rounds.all(one))).toFixed(0)} ms`,
  );
  await tab.evaluate(`document.querySelector('[role=treegrid]').scrollTop = 50000`);
  await tab.click('.rows [role=row]:nth-child(12)');
  const { heap, process } = await memoryOf(browser, tab);
  note(
    `of it, ${heap.toFixed(1)} MB are the heap of its JavaScript; a tab without a page has ${before.process.toFixed(1)} MB in all`,
  );
  report({
    name: `page: memory of its tab with ${2 * EACH} entries`,
    ours: process,
    unit: 'MB',
    goal: { most: 100 },
  });
}

function typicalCall(number: number): ReturnType<typeof callOf> {
  const { reconcile } = reconcileOf(number + 1);
  return callOf(number, {
    reconcile,
    changes: ['~spec.replicas=2', '~spec.template.spec.containers[0].image'],
  });
}

function typicalReconcile(number: number): ReturnType<typeof reconcileOf> {
  const call = typicalCall(number - 1);
  const web = { kind: 'Application', namespace: 'default', name: `web-${number}` };
  const change = {
    what: 'changed',
    by: 'kubectl-client-side-apply',
    changes: ['~spec.image=nginx'],
  } as const;
  const after = [{ at: call.at, ...web, ...change, changes: [...change.changes] }];
  return reconcileOf(number, {
    calls: [call],
    after,
    counts: { writes: 1, reads: 0, failed: 0 },
  });
}

function typical(number: number): ReturnType<typeof reviewOf> {
  const user = number % 7 === 0 ? 'system:serviceaccount:argocd:argocd-application-controller' : 'ann';
  const build = '3f2a91c 10:14:58 +dirty';
  if (number % 3 !== 0)
    return reviewOf(number, {
      user,
      build,
      patch: ['+spec.enabled=true', '+spec.replicas=1', '~spec.image'],
    });
  const message = `Application.apps.example.com "web-${number}" is invalid: spec.image: Required value: an Application needs an image`;
  const ms = { held: 0, controller: 600, total: 601, budget: 10_000 };
  return reviewOf(number, {
    user,
    build,
    verdict: 'denied',
    code: 422,
    message,
    ms,
    warnings: ['spec.port is deprecated'],
  });
}

/** From the input to the frame in which the result is drawn. */
function timeOf(query: string): string {
  return `new Promise((done) => {
    const input = document.querySelector('#query');
    const started = performance.now();
    input.value = ${JSON.stringify(query)};
    input.dispatchEvent(new Event('input', { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
  })`;
}

/** The private memory of the tab's process, and the part of it that is the heap of the page's JavaScript, in MB. */
async function memoryOf(browser: Browser, tab: Tab): Promise<{ process: number; heap: number }> {
  await tab.send('HeapProfiler.collectGarbage');
  const { usedSize } = await tab.send<{ usedSize: number }>('Runtime.getHeapUsage');
  const pids = await browser.rendererPids();
  const sizes = await Promise.all(
    pids.map(async (pid) => privateBytes(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8'))),
  );
  return { process: Math.max(...sizes) / 1e6, heap: usedSize / 1e6 };
}

function privateBytes(rollup: string): number {
  const sizes = [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)];
  return 1024 * sizes.reduce((sum, [, size]) => sum + Number(size), 0);
}

async function bundleBytes(): Promise<number> {
  const files = await readdir(ASSETS);
  const sizes = files.map(async (file) => gzipSync(await readFile(join(ASSETS, file)), { level: 9 }).length);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
