/** `npm run docs -- --screenshots` takes the pictures of the page: docs/page-light.png and docs/page-dark.png. */
import { join } from 'node:path';
import { detailOf } from '../src/page/detail.ts';
import { startPageServer } from '../src/page/server.ts';
import type { ReviewSummary } from '../src/report/review.ts';
import type { ReviewRecord } from '../src/reviews/record.ts';
import { startBrowser } from '../test/support/browser.ts';
import { reviewOf } from '../test/support/session-facts.ts';
import { fakeSession } from '../test/unit/page/fake-session.ts';

const ROOT = join(import.meta.dirname, '..');
const BUILD = '3f2a91c 10:14:58 +dirty';

/** Needs Chromium, and what `npm run build` makes. */
export async function takeScreenshots(): Promise<void> {
  const session = fakeSession({
    review: async (id) => {
      const found = session.recorded.find((one) => one.id === id);
      return found && detailOf(recordOf(found));
    },
  });
  session.recorded.push(
    ...REVIEWS.map((one, index) =>
      reviewOf(index + 1, {
        ...(one.user === undefined ? OWN : {}),
        ...one,
        at: timeOf(index),
        build: BUILD,
      }),
    ),
  );
  session.now.context = 'kind-dev';
  session.now.targets = [
    { kind: 'Deployment', namespace: 'application-operator-system', name: 'application-operator' },
  ];
  session.now.state.build.id = BUILD;
  await using server = await startPageServer(session, join(ROOT, 'dist/page'));
  await using browser = await startBrowser();
  const tab = await browser.open();
  await tab.send('Emulation.setTimezoneOverride', { timezoneId: 'UTC' });
  for (const scheme of ['light', 'dark'] as const) {
    await tab.use({ scheme, width: 1400, height: 580 });
    await tab.goto(server.url);
    const chosen = scheme === 'light' ? MUTATED : DENIED;
    await tab.until(`document.querySelector('#${chosen}') !== null`);
    await tab.click(`#${chosen}`);
    await tab.until(`document.querySelector('#part table, #part pre') !== null`);
    await tab.screenshot(join(ROOT, `docs/page-${scheme}.png`));
    await tab.goto('about:blank');
  }
}

const WEBHOOKS = { mutate: 'mapplication-v1.kb.io', validate: 'vapplication-v1.kb.io' };
const PATCH = ['+spec.enabled=true', '+spec.replicas=1', '+spec.port=8080'];
const NO_IMAGE =
  'Application.apps.example.com "web" is invalid: spec.image: Required value: an Application needs an image';
const MUTATED = 'r-000007';
const DENIED = 'r-000006';

const OWN: Partial<ReviewSummary> = { user: 'ann', isOwnUser: true };
const OTHER = { user: 'bob' };

const REVIEWS: Partial<ReviewSummary>[] = [
  asked('shop', 'CREATE', 'mutate', { patch: PATCH }),
  asked('shop', 'CREATE', 'validate'),
  asked('shop', 'UPDATE', 'mutate'),
  asked('shop', 'UPDATE', 'validate'),
  asked('web', 'CREATE', 'mutate', { patch: PATCH }),
  asked('web', 'CREATE', 'validate', { verdict: 'denied', code: 422, message: NO_IMAGE }),
  asked('web', 'CREATE', 'mutate', { patch: PATCH }),
  asked('web', 'CREATE', 'validate'),
  asked('web', 'UPDATE', 'mutate', OTHER),
  asked('web', 'UPDATE', 'validate', OTHER),
  asked('batch', 'CREATE', 'mutate', { patch: PATCH }),
  asked('batch', 'CREATE', 'validate', {
    verdict: 'denied',
    code: 422,
    message:
      'Application.apps.example.com "batch" is invalid: spec.replicas: Invalid value: 500: must be between 0 and 50',
  }),
];

function asked(
  name: string,
  operation: string,
  webhook: keyof typeof WEBHOOKS,
  more: Partial<ReviewSummary> = {},
): Partial<ReviewSummary> {
  return { operation, webhook: WEBHOOKS[webhook], object: { namespace: 'default', name }, ...more };
}

function timeOf(index: number): string {
  return new Date(Date.UTC(2026, 10, 22, 10, 15, 2 + 3 * index)).toISOString();
}

function recordOf(summary: ReviewSummary): ReviewRecord {
  const { name = '' } = summary.object ?? {};
  const object = {
    apiVersion: 'apps.example.com/v1',
    kind: 'Application',
    metadata: { name, namespace: 'default' },
    spec: { image: summary.verdict === 'denied' ? '' : 'nginx:1.29' },
  };
  const patch = summary.patch && [
    { op: 'add', path: '/spec/enabled', value: true },
    { op: 'add', path: '/spec/replicas', value: 1 },
    { op: 'add', path: '/spec/port', value: 8080 },
  ];
  const response = { uid: 'u', allowed: summary.verdict === 'allowed', patch };
  return { v: 1, ...summary, request: { request: { uid: 'u', object } }, response: { response } };
}
