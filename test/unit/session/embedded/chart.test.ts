import { chmod, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Io } from '../../../../src/session/context/options.ts';
import { chartOf, renderChart } from '../../../../src/session/embedded/chart.ts';
import { partly } from '../../../support/partly.ts';
import { directoryWith, put } from '../../controller/support/places.ts';

const CHART = 'name: shop\n';

test('the chart of a checkout is found, with its own charts below it, and none of several', async () => {
  const one = { 'charts/shop/Chart.yaml': CHART, 'charts/shop/charts/db/Chart.yaml': CHART };
  expect(chartOf(await directoryWith(one))).toBe('charts/shop');
  expect(chartOf(await directoryWith({ ...one, 'charts/other/Chart.yaml': CHART }))).toBeUndefined();
  expect(chartOf(await directoryWith({ ...one, 'dist/chart/Chart.yaml': CHART }))).toBe('dist/chart');
  expect(chartOf(await directoryWith())).toBeUndefined();
});

test('what helm renders is in the namespace of the release, unless it is in none', async () => {
  const root = await realpath(await directoryWith({ 'chart/Chart.yaml': CHART }));
  // It answers with its own arguments.
  const said =
    'printf "kind: ConfigMap\\napiVersion: v1\\nmetadata: {name: a}\\ndata: {said: \\"$*\\"}\\n---\\nkind: ClusterRole\\napiVersion: a/v1\\nmetadata: {name: b}\\n"';
  await chmod(await put(root, 'tools/helm', `#!/bin/sh\n${said}\n`), 0o755);
  const io = (PATH: string) => partly<Io>({ cwd: root, env: { PATH }, signal: new AbortController().signal });
  expect(await renderChart(root, 'chart', io(`${join(root, 'tools')}:${process.env.PATH}`))).toMatchObject([
    {
      metadata: { name: 'a', namespace: 'shop-system' },
      data: { said: `template shop ${root}/chart --namespace shop-system --include-crds` },
    },
    { metadata: { name: 'b' } },
  ]);
  await expect(renderChart(root, 'chart', io('/none'))).rejects.toMatchObject({ code: 'embedded.manifests' });
});
