import type { Json } from '../../cluster/api/objects.ts';
import type { Container, Workload } from '../../cluster/api/workloads.ts';
import { same } from '../../cluster/marks/marks.ts';

/** What a new version of the manager's workload changes for the program of one container. */
export interface TemplateChanges {
  /** The changes for display, without values of variables: `args: --zap-devel added`. */
  lines: string[];
  /** Whether something other than the image changed, so that the controller has to run differently. */
  affectsController: boolean;
}

/** The changes that matter for the program; undefined if there are none. */
export function templateChanges(
  before: Workload,
  now: Workload,
  containerName: string,
): TemplateChanges | undefined {
  const was = containerOf(before, containerName);
  const is = containerOf(now, containerName);
  if (was === undefined || is === undefined) return undefined;
  const image = was.image === is.image ? [] : [`image ${was.image} -> ${is.image}`];
  const others = [
    ...wordChanges('command', was.command, is.command),
    ...wordChanges('args', was.args, is.args),
    ...variableChanges(was, is),
    ...volumeChanges(before, now, was, is),
  ];
  const lines = [...image, ...others];
  return lines.length === 0 ? undefined : { lines, affectsController: others.length > 0 };
}

export function containerOf({ spec }: Workload, name: string): Container | undefined {
  return spec.template.spec.containers.find((container) => container.name === name);
}

function wordChanges(what: string, before: string[] = [], now: string[] = []): string[] {
  const removed = before.filter((word) => !now.includes(word)).map((word) => `${word} removed`);
  const added = now.filter((word) => !before.includes(word)).map((word) => `${word} added`);
  const changes = [...removed, ...added];
  if (changes.length > 0) return [`${what}: ${changes.join(', ')}`];
  return before.join('\0') === now.join('\0') ? [] : [`${what}: in another order`];
}

function variableChanges(before: Container, now: Container): string[] {
  const names = new Set([...(before.env ?? []), ...(now.env ?? [])].map(({ name }) => name));
  const variableOf = ({ env = [] }: Container, name: string): unknown => env.find((one) => one.name === name);
  const changed = [...names].filter((name) => !equal(variableOf(before, name), variableOf(now, name)));
  const sources = equal(before.envFrom, now.envFrom) ? [] : ['envFrom'];
  return changed.length + sources.length === 0 ? [] : [`env: ${[...changed, ...sources].join(', ')}`];
}

function volumeChanges(before: Workload, now: Workload, was: Container, is: Container): string[] {
  const volumes = ({ spec }: Workload): unknown => spec.template.spec.volumes;
  const isSame = equal(was.volumeMounts, is.volumeMounts) && equal(volumes(before), volumes(now));
  return isSame ? [] : ['volumes'];
}

function equal(a: unknown, b: unknown): boolean {
  return same(a as Json | undefined, b as Json | undefined);
}
