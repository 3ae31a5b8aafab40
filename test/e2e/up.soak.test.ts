import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { startBrowser, type Tab } from '../support/browser.ts';
import { CONTROL_PLANES } from '../support/control-planes.ts';
import { BIN, type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { createReviewer, failuresWhile, lostWhileEnding } from '../support/reviews.ts';
import {
  application,
  checkoutSample,
  DEPLOYMENT,
  deploySample,
  NAMESPACE,
  SERVICE,
} from '../support/sample-operator.ts';
import { fieldOwners, snapshot } from '../support/snapshot.ts';

/** The text in the sample operator that a person sees if the image is missing. */
const WEBHOOK = 'internal/webhook/v1/application_webhook.go';
const MESSAGE = 'an Application needs an image';
const LOCAL = 'the laptop says: no image';

describe.each(CONTROL_PLANES)(
  'devloop up finds, serves, restarts, gives way, and restores everything: %s',
  (_, mode) => {
    let cluster: TestCluster;
    let checkout: Awaited<ReturnType<typeof checkoutSample>>;
    let before: Awaited<ReturnType<typeof snapshot>>;
    let owners: object[];
    let up: DevloopRun | undefined;
    let edits = 0;
    const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });
    const apply = (name: string, image: string, extra = ''): Promise<void> =>
      cluster.apply(application(name, image, extra));
    const names = async (path: string): Promise<string[]> =>
      ((await cluster.read(path)) as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name);
    const edit = async (from: string | RegExp, to: string): Promise<void> => {
      const file = join(checkout.directory, WEBHOOK);
      await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
    };
    /** Changes the message of the local webhook, and returns the new one. */
    const say = async (): Promise<string> => {
      const text = `${LOCAL}, ${++edits}.`;
      await edit(/imageRequired = ".*"/, `imageRequired = "${text}"`);
      return text;
    };
    const start = async (...args: string[]): Promise<DevloopRun> => {
      const desktop = { DISPLAY: '', WAYLAND_DISPLAY: '' };
      const started = startDevloop(['up', ...args], {
        cwd: checkout.directory,
        env: { ...env(), ...desktop },
      });
      await started.waitFor('session.ready', undefined, 120_000);
      return started;
    };

    /** The set `regression` is the denial of this one object: two reviews, since the mutating webhook gets it, too. */
    const saveRegression = async (): Promise<void> => {
      const file = join(checkout.directory, 'testdata/reviews/regression.ndjson');
      if (existsSync(file)) return;
      await expect(apply('regression', '')).rejects.toThrow(LOCAL);
      const save = ['reviews', 'save', 'regression', '--name', 'regression', '--update'];
      // Reviews are recorded after they were answered.
      await eventually(async () => {
        const { code, log } = await runDevloop(save, { cwd: checkout.directory, env: env() });
        expect(code, log).toBe(0);
        expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(2);
      });
    };

    beforeAll(async () => {
      cluster = await startCluster({ ...mode, log: (line) => console.error(line) });
      await deploySample(cluster);
      checkout = await checkoutSample();
      const git = (...args: string[]) => spawnSync('git', args, { cwd: checkout.directory });
      git('init', '--quiet');
      git('add', '.');
      git('-c', 'user.name=ann', '-c', 'user.email=ann@example.com', 'commit', '--quiet', '-m', 'sample');
      // From now on, git sees a change that is not committed.
      await say();
      before = await snapshot(cluster, NAMESPACE);
      owners = await fieldOwners(cluster, NAMESPACE);
    });

    // One session for all tests, as for a person at work. A test that ends the session sets it to undefined.
    beforeEach(async () => {
      up ??= await start('--open', '--replay', '--redact', '.metadata.annotations.example\\.com/pin');
    });

    afterAll(async () => {
      await up?.[Symbol.asyncDispose]();
      await checkout?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });

    it('finds everything by itself and says where from', () => {
      const found = Object.fromEntries(
        up!.events.flatMap((event) => (event.type === 'discovered' ? [[event.what, event.value]] : [])),
      );
      expect(found).toMatchObject({
        service: `${NAMESPACE}/${SERVICE}`,
        deployment: `${NAMESPACE}/${DEPLOYMENT}`,
        secret: `${NAMESPACE}/webhook-server-cert`,
        'main package': './cmd',
        address: expect.stringContaining(cluster.hostIp),
      });
    });

    it('has quieted the in-cluster manager', async () => {
      // The object of a Pod that has ended can stay for a moment.
      await eventually(async () => expect(await names(`/api/v1/namespaces/${NAMESPACE}/pods`)).toEqual([]));
    });

    it('answers reviews with the local code', async () => {
      await expect(apply('fail', '')).rejects.toThrow(LOCAL);
    });

    it('shows each review: who asked for what, what the webhook changed, and why it refused', async () => {
      const reviews = async (...args: string[]): Promise<DevloopRun['events']> =>
        (await runDevloop(['reviews', ...args], { cwd: checkout.directory, env: env() })).events;
      const annotated = application('seen', 'devloop.test/pause:1').replace(
        'name: seen,',
        'name: seen, annotations: {example.com/api-token: hunter2, example.com/dbpassword: hunter2, example.com/pin: swordfish},',
      );
      await cluster.kubectl(['apply', '-f', '-'], { input: annotated });
      await expect(apply('unseen', '')).rejects.toThrow(LOCAL);
      const mutated = await up!.waitFor(
        'review',
        ({ object, patch }) => object?.name === 'seen' && patch !== undefined,
      );
      expect(mutated).toMatchObject({
        kind: 'admission',
        webhook: 'mapplication-v1.kb.io',
        operation: 'CREATE',
        object: { namespace: 'default', name: 'seen' },
        verdict: 'allowed',
        patch: expect.arrayContaining([expect.stringMatching(/^\+spec\.replicas=\d+$/)]),
        ms: { budget: 10_000 },
        build: expect.stringMatching(/^[0-9a-f]{7} \d\d:\d\d:\d\d \+dirty$/),
        package: './cmd',
      });
      const listed = await eventually(async () => {
        const events = await reviews('--name', 'unseen', '--verdict', 'denied');
        expect(events).toMatchObject([
          { type: 'reviews.listed', review: { code: 422, message: expect.stringContaining(LOCAL) } },
        ]);
        return events;
      });
      const shown = await reviews('show', mutated.id);
      expect(shown).toMatchObject([
        {
          type: 'reviews.shown',
          sections: [{ title: 'object' }, { title: 'changed by the webhook' }, { title: 'answer' }],
        },
      ]);
      expect(JSON.stringify(shown)).toContain('+  replicas:');
      const [validated] = await reviews('--name', 'seen', '--webhook', 'vapplication');
      expect(validated).toMatchObject({ type: 'reviews.listed' });
      const { id } = (validated as { review: { id: string } }).review;
      expect(await reviews('show', id)).toMatchObject([
        { sections: [{ title: `object, with the changes of review ${mutated.id}` }, { title: 'answer' }] },
      ]);
      const exported = spawnSync(
        process.execPath,
        [BIN, 'reviews', 'export', mutated.id, '--output', 'curl'],
        { cwd: checkout.directory, env: { ...process.env, ...env() } },
      );
      const { stdout } = spawnSync('sh', { input: exported.stdout });
      expect(JSON.parse(stdout.toString())).toMatchObject({ response: { allowed: true } });
      const saved = await reviews('save', 'seen', mutated.id);
      expect(saved.at(-1)).toMatchObject({ type: 'note' });
      const file = join(checkout.directory, 'testdata/reviews/seen.ndjson');
      expect(await reviews('--set', 'seen')).toMatchObject([{ review: { id: mutated.id } }]);
      const kept = await readFile(file, 'utf8');
      await rm(file);
      for (const text of [kept, exported.stdout.toString(), JSON.stringify([listed, shown, up!.events])])
        expect(text).not.toMatch(/hunter2|swordfish/);
      const recorded = await textsBelow(process.env.XDG_STATE_HOME!);
      expect(recorded).toContain(`"${mutated.id}"`);
      expect(recorded).not.toMatch(/hunter2|swordfish/);
      await cluster.kubectl(['delete', 'application', 'seen', '--timeout=30s']);
    });

    it('has a page that shows why an apply was denied, what the webhook changed, and how all is restored', async () => {
      const { url, opened } = await up!.waitFor('page.served');
      expect(opened).toBe(false);
      await expect(apply('no-image', '')).rejects.toThrow(LOCAL);
      await apply('defaulted', 'devloop.test/pause:1');
      await using browser = await startBrowser();
      const tab = await browser.open();
      await tab.goto(url);
      /** Opens the request that the filter finds, and in it the review by this webhook. */
      const open = async (name: string, query: string, webhook: string): Promise<void> => {
        await tab.evaluate(`document.querySelector('#query').select()`);
        await tab.type(`${query} name:${name}`);
        // What the filter before this one has found can be a single line, too.
        await tab.until(
          `[...document.querySelectorAll('.rows [aria-level="1"]')].map((one) => one.innerText.includes('${name}')).join() === 'true'`,
        );
        await tab.evaluate(`document.querySelector('.rows [aria-expanded=false] .opener')?.click()`);
        const row = `[...document.querySelectorAll('.rows [aria-level="2"]')].find((one) =>
          one.querySelector('.via').innerText.includes('${webhook}'))`;
        await tab.until(`${row} !== undefined`);
        await tab.evaluate(`${row}.click()`);
      };
      const press = async (label: string): Promise<void> => {
        const button = `[...document.querySelectorAll('button')].find((one) => one.textContent === '${label}')`;
        await tab.until(`${button} !== undefined`);
        await tab.evaluate(`${button}.click()`);
      };
      await open('no-image', 'verdict:denied', 'vapplication');
      await tab.until(`document.querySelector('#detail .answer').innerText.includes('${LOCAL}')`);
      await open('defaulted', 'create webhook:mapplication', 'mapplication');
      await tab.until(`document.querySelector('#part').innerText.includes('replicas: 1')`);
      await tab.until(`/^added:\\s\\+ /.test(document.querySelector('.diff .added')?.innerText)`);
      await takeScreenshots(tab);
      await press('Replay');
      await tab.until(`document.querySelector('.replay').innerText.includes('still gives the same answer')`);
      expect(await tab.evaluate(`document.querySelector('#detail .type').innerText`)).toBe('mutating');
      await seeWhatFollowed(tab);
      await tab.click('#show-changes');
      await tab.until(
        `document.querySelector('.changes').innerText.includes('Service ${NAMESPACE}/${SERVICE}')`,
      );
      expect(await tab.evaluate(`document.querySelector('.changes').innerText`)).toMatch(
        /spec\.selector: .* becomes \{/,
      );
      await press('Hold reviews');
      await up!.waitFor('reviews.held');
      await press('Release reviews');
      await up!.waitFor('reviews.released');
      await edit('package v1', 'package v1\n\nfunc broken() { return 1 }');
      await tab.until(`document.querySelector('.build').innerText.includes('application_webhook.go')`);
      await edit('\n\nfunc broken() { return 1 }', '');
      await tab.until(`document.querySelector('.build') === null`);
      expect(tab.complaints).toEqual([]);
      await cluster.kubectl(['delete', 'application', 'defaulted', '--timeout=30s']);
    });

    it('reconciles with the local code: create, update, delete through the finalizer', async () => {
      const deployments = '/apis/apps/v1/namespaces/default/deployments';
      const replicas = async () => ((await cluster.read(`${deployments}/ok`)) as Workload).spec.replicas;
      const path = '/apis/apps.example.com/v1/namespaces/default/applications';
      await apply('ok', 'devloop.test/pause:1');
      await eventually(async () => expect(await replicas()).toBe(1));
      await apply('ok', 'devloop.test/pause:1', ', replicas: 3');
      await eventually(async () => expect(await replicas()).toBe(3));
      const { metadata } = (await cluster.read(`${path}/ok`)) as { metadata: { finalizers?: string[] } };
      expect(metadata.finalizers?.join()).toContain('finalizer');
      await cluster.call('DELETE', `${path}/ok`);
      await eventually(async () => expect(await names(path)).not.toContain('ok'));
      await eventually(async () => expect(await names(deployments)).not.toContain('ok'));
    });

    it('replaces the controller when a file is saved, answers every review meanwhile, and compares what the new build answers', async () => {
      await expect(apply('unseen', '')).rejects.toThrow(LOCAL);
      await using reviewer = await createReviewer(cluster.kubeconfig);
      const saving = (async () => {
        const text = await say();
        await up!.waitFor('controller.replaced', undefined, 120_000);
        await eventually(async () => expect(await reviewer.ask()).toContain(text));
      })();
      expect(await failuresWhile(reviewer, saving, (one) => one.includes(LOCAL))).toEqual([]);
      const { changed, replayed } = await up!.waitFor('reviews.compared');
      expect(changed).toBeGreaterThan(0);
      expect(changed).toBeLessThan(replayed);
      const shown = up!.events.filter((event) => event.type === 'reviews.replayed');
      expect(shown.reduce((sum, { alike = [] }) => sum + 1 + alike.length, 0)).toBe(changed);
      expect(shown.length).toBeLessThan(20);
      expect(shown).toContainEqual(
        expect.objectContaining({
          differences: [{ title: 'message', text: expect.stringContaining(LOCAL) }],
        }),
      );
      const again = (...args: string[]) =>
        runDevloop(['reviews', 'replay', ...args], { cwd: checkout.directory, env: env() });
      const denied = await again('--name', 'unseen');
      expect(denied.events.at(-1)).toMatchObject({
        ...{ type: 'error', code: 'review.changed' },
        hint: expect.stringContaining('devloop reviews show r-'),
      });
      expect(denied.code).toBe(6);
      const allowed = await again('--verdict', 'allowed', '--since', '10m');
      expect(allowed.events.at(-1)).toMatchObject({ type: 'reviews.compared', changed: 0 });
      expect(allowed.code).toBe(0);
      // A replayed review does not come from the cluster.
      const ids = up!.events.flatMap((event) => (event.type === 'review' ? [event.id] : []));
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('asks its own controller about a saved set, and says so where the set is to be verified', async () => {
      await saveRegression();
      // The session uses the port, so `verify` names the command that asks the session's controller instead.
      const run = (...args: string[]) =>
        runDevloop(['reviews', ...args], { cwd: checkout.directory, env: env() });
      expect(await run('verify', 'regression')).toMatchObject({
        code: 6,
        events: [
          {
            code: 'port.in-use',
            message: expect.stringContaining(
              up!.events.find((one) => one.type === 'session.started')!.session,
            ),
            hint: expect.stringContaining('devloop reviews replay --set regression'),
          },
        ],
      });
      expect((await run('replay', '--set', 'regression')).code).toBe(0);
    });

    it('shows what the compiler says and goes on serving with the old program', async () => {
      await edit('package v1', 'package v1\n\nfunc broken() { return 1 }');
      const failed = await up!.waitFor('build.failed', undefined, 120_000);
      expect(failed.output).toMatch(/too many return values|internal\/webhook/);
      await eventually(async () => {
        await expect(apply('bad', '')).rejects.toThrow(LOCAL);
        const review = up!.events.findLast((one) => one.type === 'review');
        expect(review).toMatchObject({ object: { name: 'bad' }, isOldBuild: true });
      }, 120_000);
      await edit('\n\nfunc broken() { return 1 }', '');
    });

    it('is seen by status from anywhere', async () => {
      await eventually(async () => {
        const { code, events } = await runDevloop(['status'], { cwd: tmpdir(), env: env() });
        expect(code).toBe(0);
        const session = { state: 'live', health: 'serving', route: `direct ${cluster.hostIp}` };
        expect(events.at(-1)).toMatchObject({ type: 'status', sessions: [session] });
        // The corrected program is being built at this point.
      }, 120_000);
    });

    it('refuses a second session and names the holder', async () => {
      const { code, events } = await runDevloop(['up'], { cwd: checkout.directory, env: env() });
      expect(events.at(-1)).toMatchObject({
        type: 'error',
        code: 'session.held',
        message: expect.stringContaining(`pid ${up!.pid}`),
      });
      expect(code).toBe(4);
    });

    it('gives way to a session of this machine that takes over, which then serves', async () => {
      const second = await start('--take-over', '--stamp');
      expect(await up!.exited, up!.log()).toBe(130);
      up = second;
      const refused = await cluster
        .kubectl(['apply', '-f', '-'], { input: application('bad', '') })
        .catch(String);
      expect(refused).toContain(LOCAL);
      expect(refused).toMatch(/Warning: devloop: build [0-9a-f]{7} [\d:]{8} \+dirty answered/);
    });

    it('puts everything back on Ctrl-C, and loses no review; a saved set is verified without any session', async () => {
      await saveRegression();
      const recordings = async (): Promise<string[]> =>
        (await readdir(process.env.XDG_STATE_HOME!, { recursive: true })).filter(
          // What the controller has printed is kept for `devloop logs`.
          (file) => file.endsWith('.ndjson') && !file.includes('.output'),
        );
      await expect(apply('recorded', '')).rejects.toThrow(LOCAL);
      await eventually(async () => expect(await recordings()).not.toEqual([]));
      const ending = up!;
      up = undefined;
      await using reviewer = await createReviewer(cluster.kubeconfig);
      const lost = await lostWhileEnding(reviewer, async () => {
        ending.signal('SIGINT');
        expect(await ending.exited).toBe(130);
      });
      expect(lost).toEqual([]);
      expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
      expect(await fieldOwners(cluster, NAMESPACE)).toEqual(owners);
      expect(await recordings()).toEqual([]);
      await expect(apply('bad', '')).rejects.toThrow(MESSAGE);

      // No session runs now: a saved set is verified without a cluster.
      const verify = (more: Record<string, string> = {}, ...flags: string[]) =>
        runDevloop(['reviews', 'verify', 'regression', ...flags], {
          cwd: checkout.directory,
          env: { ...env(), KUBECONFIG: '/nonexistent', ...more },
        });
      const same = await verify();
      expect(same.code, same.log).toBe(0);
      expect(same.events.at(-1)).toMatchObject({ type: 'reviews.compared', changed: 0 });
      const file = join(checkout.directory, WEBHOOK);
      await say();
      const other = await verify();
      expect(other.code, other.log).toBe(6);
      expect(other.events).toContainEqual(
        expect.objectContaining({ type: 'reviews.compared', replayed: 2, changed: 1 }),
      );
      const hint = expect.stringContaining('devloop reviews verify regression --update');
      expect(other.events.at(-1)).toMatchObject({ code: 'review.changed', hint });
      // The new answers are intended.
      const updated = await verify({}, '--update');
      expect(updated.code, updated.log).toBe(0);
      expect(updated.events).toContainEqual(expect.objectContaining({ result: 'changed' }));
      expect(updated.events.at(-1)).toMatchObject({ type: 'note' });
      // A webhook that reads from the API server, here the one of envtest, with the CRDs of the checkout.
      await writeFile(file, readingWebhook(await readFile(file, 'utf8')));
      const assets = await envtestPrograms(checkout.directory);
      const reading = await verify({ KUBEBUILDER_ASSETS: assets });
      expect(reading.code, reading.log).toBe(0);
      expect(reading.events).toContainEqual(
        expect.objectContaining({
          code: 'verify.tries-envtest',
          values: expect.objectContaining({ assets }),
        }),
      );
      // The same with an API server that the user names. The operator is deployed there, so its arguments count.
      const named = await verify({}, '--api-server', cluster.kubeconfig);
      expect(named.code, named.log).toBe(0);
      expect(named.events).toContainEqual(
        expect.objectContaining({ type: 'note', message: expect.stringContaining('--leader-elect=false') }),
      );
      expect(named.events).toContainEqual(
        expect.objectContaining({
          type: 'warning',
          code: 'verify.named-cluster',
        }),
      );
    });
  },
);

/** On the page, the reconcile that followed the apply and its writes, the timeline of the object, and a fault that is added and cleared. */
async function seeWhatFollowed(tab: Tab): Promise<void> {
  const says = (part: string) => tab.until(`document.querySelector('#detail').innerText.includes('${part}')`);
  const open = async (row: string): Promise<void> => {
    const first = `[...document.querySelectorAll('.rows [role=row]')].find((one) => ${row})`;
    await tab.until(`${first} !== undefined`);
    await tab.evaluate(`${first}.click()`);
  };
  await open(`one.ariaLevel === '2' && one.id.startsWith('k-')`);
  await says('create Deployment default/defaulted');
  await says('Created Deployment defaulted');
  await says('created by ');
  await open(`one.ariaLevel === '3' && one.innerText.includes('create Deployment')`);
  await says('kind: Deployment');
  // The write of the controller was reviewed, too.
  await open(`one.ariaLevel === '4' && one.innerText.includes('mapplication')`);
  await says('For the controller’s own call c-');
  await tab.click('.timeline-of');
  await tab.until(`document.querySelector('.timeline')?.innerText.includes('created Deployment defaulted')`);
  await tab.click('#show-faults');
  await tab.until(`document.querySelector('#rule') !== null`);
  await tab.evaluate(`document.querySelector('#rule').focus()`);
  await tab.type('delay=1ms review');
  await tab.press('Enter');
  await tab.until(
    `document.querySelector('.faults [aria-checked=true]')?.innerText.includes('delay=1ms review')`,
  );
  await tab.click('.faults [role=switch]');
  await tab.until(`document.querySelector('#show-faults').innerText === 'Faults'`);
}

/** Takes the documents' pictures of the page, if `npm run docs -- --screenshots` runs this test. */
async function takeScreenshots(tab: Tab): Promise<void> {
  const directory = process.env.DEVLOOP_SCREENSHOTS;
  if (directory === undefined) return;
  await tab.evaluate(`document.querySelector('#query').select()`);
  await tab.press('Backspace');
  await tab.until(`document.querySelectorAll('.rows [role=row]').length > 4`);
  await tab.evaluate('document.activeElement.blur()');
  for (const scheme of ['light', 'dark'] as const) {
    await tab.use({ scheme, width: 1280, height: 640 });
    await tab.screenshot(join(directory, `page-${scheme}.png`));
  }
  await tab.use({});
}

/** The validator lists Applications first. */
function readingWebhook(source: string): string {
  return source
    .replace(
      'ctrl "sigs.k8s.io/controller-runtime"',
      'ctrl "sigs.k8s.io/controller-runtime"\n\t"sigs.k8s.io/controller-runtime/pkg/client"',
    )
    .replace(
      /(func SetupApplicationWebhookWithManager.*\n)/,
      'var reader client.Reader\n\n$1\treader = mgr.GetClient()\n',
    )
    .replace(
      '\tlogf.FromContext(ctx).Info("validating create")\n',
      '\tif err := reader.List(ctx, &examplev1.ApplicationList{}); err != nil {\n\t\treturn nil, err\n\t}\n',
    );
}

/** All that devloop keeps on this machine. */
async function textsBelow(directory: string): Promise<string> {
  const all = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = all.filter((one) => one.isFile());
  return (await Promise.all(files.map((one) => readFile(join(one.parentPath, one.name), 'latin1')))).join(
    '\n',
  );
}

/** In the directory that setup-envtest would use. */
async function envtestPrograms(directory: string): Promise<string> {
  const { cluster } = await ensureClusterBinaries({ log: (line) => console.error(line) });
  const assets = join(directory, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  return assets;
}
