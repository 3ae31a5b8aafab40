/** What is wrong with a controller shows in what it does again and again. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callWarnings } from '../support/call-warnings.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, type Checkout, checkoutSample } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';

const BUILT_MS = 240_000;
/** Longer than a deleted object may stand still. */
const STILL_MS = 100_000;

it('up names the field with which a controller wakes itself, and says nothing of one that does not', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const env = { KUBECONFIG: cluster.kubeconfig };
  await using up = startDevloop(['up'], { cwd: checkout.directory, env });
  await up.waitFor('session.ready', undefined, BUILT_MS);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('restless', 'example.com/shop:1') });
  await up.waitFor('reconcile', ({ after }) => after.some(({ isOwn }) => isOwn));
  for (const replicas of [2, 3])
    await cluster.kubectl([
      'patch',
      'application',
      'restless',
      '--type',
      'merge',
      '-p',
      `{"spec":{"replicas":${replicas}}}`,
    ]);
  await up.waitFor('reconcile', ({ calls }) =>
    calls.some(({ changes = [] }) => changes.includes('~spec.replicas=3')),
  );
  const file = join(checkout.directory, 'internal/controller/status.go');
  const restless = (await readFile(file, 'utf8'))
    .replace('"fmt"', '"fmt"\n\t"time"')
    .replace('app.Status.Message = message', 'app.Status.Message = time.Now().String()');
  await writeFile(file, restless);
  const told = await up.waitFor('warning', (event) => callWarnings([event]).length > 0, BUILT_MS);
  expect(told).toMatchObject({
    code: 'reconciles.wake-themselves',
    values: {
      ...{
        controller: 'application',
        object: { kind: 'Application', namespace: 'default', name: 'restless' },
      },
      fields: expect.arrayContaining([{ field: 'status.message', times: expect.any(Number) }]),
    },
  });
  await cluster.kubectl(['delete', 'application', 'restless', '--wait']);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  // It went on, and was told once.
  expect(callWarnings(up.events)).toEqual([told]);
});

/** More of a client than it may do, everything at once, and a watch from a version that is no longer there. */
const WASTEFUL = `package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	examplev1 "example.com/application-operator/api/v1"
)

func addWaste(config *rest.Config, mgr ctrl.Manager) error {
	slow := rest.CopyConfig(config)
	slow.QPS, slow.Burst = 0.5, 1
	core := kubernetes.NewForConfigOrDie(slow).CoreV1()
	watches, err := client.NewWithWatch(config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	old := &client.ListOptions{Namespace: "default", Raw: &metav1.ListOptions{ResourceVersion: "1"}}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		if _, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{}); err != nil {
			return err
		}
		go func() {
			for ctx.Err() == nil {
				if watch, err := watches.Watch(ctx, &examplev1.ApplicationList{}, old); err == nil {
					<-watch.ResultChan()
					watch.Stop()
				}
				time.Sleep(2 * time.Second)
			}
		}()
		for ctx.Err() == nil {
			_, _ = core.Namespaces().Get(ctx, "default", metav1.GetOptions{})
		}
		return nil
	}))
}
`;

it('up says what costs too much, what begins again and again, and which finalizer is left', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const data = { large: 'x'.repeat(900_000) };
  const items = Array.from({ length: 12 }, (_, index) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `large-${index}` }, data },
  }));
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await cluster.kubectl(['create', '-f', '-'], { input });
  await writeFile(join(checkout.directory, 'cmd/wasteful.go'), WASTEFUL);
  await edit(checkout, 'cmd/main.go', [
    ['if err := register(mgr)', 'if err := errors.Join(register(mgr), addWaste(config, mgr))'],
    ['"flag"', '"errors"\n\t"flag"'],
  ]);
  const removal = 'controllerutil.RemoveFinalizer(app, finalizer)';
  await edit(checkout, 'internal/controller/application_controller.go', [
    [removal, 'return nil // forgotten'],
  ]);
  const env = { KUBECONFIG: cluster.kubeconfig };
  await using up = startDevloop(['up', '--identity', 'me'], { cwd: checkout.directory, env });
  await up.waitFor('session.ready', undefined, BUILT_MS);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('left', 'example.com/shop:1') });
  await up.waitFor('reconcile', ({ calls }) => calls.some(({ verb }) => verb === 'create'));
  await cluster.kubectl(['delete', 'application', 'left', '--wait=false']);

  const large = await up.waitFor('warning', ({ code }) => code === 'calls.large-list', STILL_MS);
  expect(large.values).toMatchObject({ group: '', resource: 'configmaps', hasObjects: true, times: 1 });
  const restarts = await up.waitFor('warning', ({ code }) => code === 'calls.watch-restarts', STILL_MS);
  expect(restarts.values).toMatchObject({
    resource: 'applications',
    namespace: 'default',
    times: 5,
    code: 410,
  });
  const throttled = await up.waitFor('warning', ({ code }) => code === 'calls.throttled', STILL_MS);
  expect(throttled.values).toMatchObject({
    calls: expect.arrayContaining([{ call: 'get namespaces', times: expect.any(Number) }]),
  });
  const left = await up.waitFor('warning', ({ code }) => code === 'reconciles.finalizer-left', STILL_MS);
  expect(left.values).toMatchObject({
    ...{ controller: 'application', object: { kind: 'Application', namespace: 'default', name: 'left' } },
    finalizers: ['apps.example.com/finalizer'],
  });

  const shown = async (...flags: string[]): Promise<object[]> =>
    (await runDevloop(['calls', ...flags], { cwd: checkout.directory, env: {} })).events.flatMap((event) =>
      event.type === 'calls.listed' ? [event.call] : [],
    );
  const lists = await shown('--kind', 'configmaps');
  for (const one of [{ verb: 'list' }, { verb: 'watch', isOpen: true }])
    expect(lists).toContainEqual(expect.objectContaining({ ...one, bytes: expect.toSatisfy(isLarge) }));
  expect(await shown('--kind', 'applications', '--verb', 'watch')).toContainEqual(
    expect.objectContaining({ code: 200, message: expect.stringContaining('too old resource version') }),
  );

  // With the finalizer's removal, the object goes.
  await edit(checkout, 'internal/controller/application_controller.go', [
    ['return nil // forgotten', removal],
  ]);
  await cluster.kubectl(['wait', '--for=delete', 'application/left', '--timeout=240s']);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  expect(callWarnings(up.events)).toHaveLength(4);
});

function isLarge(bytes: number): boolean {
  return bytes > 12 * 900_000;
}

async function edit({ directory }: Checkout, path: string, changes: [string, string][]): Promise<void> {
  const file = join(directory, path);
  let text = await readFile(file, 'utf8');
  for (const [before, after] of changes) {
    expect(text).toContain(before);
    text = text.replace(before, after);
  }
  await writeFile(file, text);
}

const PROGRAM = join(import.meta.dirname, '../fixtures/e2e/wakes-itself.mjs');
const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata: {name: woken, namespace: default}
data: {count: "0", owner: program}
`;

it('up says the same of a program without reconciles, as far as the time of its calls tells', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  await cluster.kubectl(['apply', '-f', '-'], { input: CONFIG_MAP });
  const env = { KUBECONFIG: cluster.kubeconfig };
  const command = ['up', '--', process.execPath, PROGRAM, '9443'];
  await using up = startDevloop(command, { cwd: checkout.directory, env });
  const object = { kind: 'ConfigMap', namespace: 'default', name: 'woken' };
  const woken = await up.waitFor('warning', ({ code }) => code === 'calls.after-own', BUILT_MS);
  const { times } = woken.values as { times: number };
  expect(times).toBeGreaterThanOrEqual(30);
  expect(woken.values).toMatchObject({
    object,
    fields: [{ field: 'data.count', times }],
  });
  expect(up.events).toContainEqual(
    expect.objectContaining({
      ...{ type: 'call', name: 'woken' },
      after: expect.arrayContaining([expect.objectContaining({ isOwn: true, changes: expect.any(Array) })]),
    }),
  );
  await up.waitFor('call', ({ changes = [] }) => changes.includes('~data.count=300'));
  for (const owner of ['ann', 'bob', 'cat']) {
    const patch = JSON.stringify({ data: { owner } });
    await cluster.kubectl(['patch', 'configmap', 'woken', '--type', 'merge', '-p', patch]);
    const data = async (): Promise<string> =>
      await cluster.kubectl(['get', 'configmap', 'woken', '-o', 'jsonpath={.data.owner}']);
    await eventually(async () => expect(await data()).toBe('program'));
  }
  const contested = await up.waitFor('warning', ({ code }) => code === 'calls.contested');
  expect(contested.values).toMatchObject({
    ...{ object, by: 'kubectl-patch', times: 3 },
    fields: [{ field: 'data.owner', times: 3 }],
  });
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  expect(callWarnings(up.events)).toEqual([woken, contested]);
});
