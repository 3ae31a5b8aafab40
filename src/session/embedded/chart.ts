import { dirname, join, relative } from 'node:path';
import { Checkout, isFile } from '../../checkout/files.ts';
import { DevloopError } from '../../errors.ts';
import { findProgram } from '../../machine/find-program.ts';
import { runWithin } from '../../machine/limited-tool.ts';
import type { ToolResult } from '../../machine/tool.ts';
import { bothEnds, shellWord } from '../../phrases.ts';
import type { Io } from '../context/options.ts';
import type { Declared } from './declared.ts';
import { objectsIn } from './yaml.ts';

/** Where kubebuilder's plugin writes one. */
const PLUGIN = 'dist/chart';
const CHART = 'Chart.yaml';
/** A base or a chart can be on another machine. */
export const RENDER_MS = 60_000;
const LONGEST_ERROR = 4_000;

/** Kinds without a namespace, which charts create. Helm puts everything else into the namespace of the release. */
const CLUSTER_WIDE = new Set([
  ...['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'ClusterRoleBinding', 'APIService'],
  ...['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'ClusterIssuer', 'PriorityClass'],
  ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding', 'StorageClass', 'IngressClass'],
]);

/** The chart of the checkout, relative to its root; undefined if it has none, or several. */
export function chartOf(root: string): string | undefined {
  if (isFile(join(root, PLUGIN, CHART))) return PLUGIN;
  const found = new Checkout(root)
    .files((name) => name === CHART)
    .map((file) => relative(root, dirname(file)))
    .sort((a, b) => a.length - b.length);
  // A chart's own charts are below it.
  const [first, ...others] = found;
  return others.every((one) => one.startsWith(`${first}/`)) ? first : undefined;
}

/** What `helm install` would create, in a namespace that has the name of the project. Throws 'embedded.manifests'. */
export async function renderChart(
  root: string,
  chart: string,
  { env, signal, cwd }: Io,
): Promise<Declared[]> {
  const helm = findProgram('helm', env.PATH);
  if ('why' in helm)
    throw new DevloopError(
      'embedded.manifests',
      `The checkout's manifests are a chart (${chart}), which needs helm, ${helm.why}.`,
      { hint: 'Install helm, or: make build-installer' },
    );
  const release = await nameOf(join(root, chart, CHART));
  const namespace = `${release}-system`;
  const words = ['template', release, join(root, chart), '--namespace', namespace, '--include-crds'];
  const result = await runWithin(RENDER_MS, [helm.path, ...words], { cwd, env, signal });
  if (result?.code !== 0)
    throw new DevloopError(
      'embedded.manifests',
      `The chart ${chart} cannot be rendered:\n${whyNot(result)}`,
      { hint: `helm template ${shellWord(`./${chart}`)}` },
    );
  return (await objectsIn(result.stdout, chart)).map((object) =>
    object.metadata.namespace !== undefined || CLUSTER_WIDE.has(object.kind ?? '')
      ? object
      : { ...object, metadata: { ...object.metadata, namespace } },
  );
}

/** The end of an error about a program that renders. `result`: undefined if the program did not end. */
export function whyNot(result: Pick<ToolResult, 'stderr'> | undefined): string {
  if (result === undefined) return `it did not end within ${RENDER_MS / 1000} s`;
  return bothEnds(result.stderr.trim(), LONGEST_ERROR);
}

async function nameOf(file: string): Promise<string> {
  const { parse } = await import('yaml');
  const { readFile } = await import('node:fs/promises');
  const { name } = (parse(await readFile(file, 'utf8')) ?? {}) as { name?: unknown };
  return typeof name === 'string' && /^[a-z0-9][a-z0-9-]{0,40}$/.test(name) ? name : 'operator';
}
