import { crdCommand } from '../../checkout/crd-command.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** Where the CRDs of these API groups come from. */
interface Place {
  root: string;
  cwd: string;
  groups: ReadonlySet<string>;
}

/** Fields of a kind that kube-apiserver does not store. */
interface Pruned {
  group: string;
  kind: string;
  fields: string[];
  /** Whether the kind is that of a CRD. Of what a webhook sets, only fields that a CRD lacks are known. */
  isOfCrd: boolean;
}

/** Nobody reads more, and each is kept. */
const MOST = 1_000;

/**
 * Warns once for each field that a webhook sets or the controller writes, and that the cluster's version of the kind does not have, with the
 * command that updates the CRD if it is one of the checkout; not while the session ends, when nobody would update it.
 */
export function createPrunedNotice(
  { groups, ...checkout }: Place,
  { emit, signal }: { emit: Emit; signal: AbortSignal },
): { observe(event: DevloopEvent): void } {
  const known = new Set<string>();
  /** Commands are found in any order. */
  let told: Promise<unknown> = Promise.resolve();
  return {
    observe(event) {
      for (const { group, kind, fields: all, isOfCrd } of prunedBy(event)) {
        const fields = all.filter((field) => !known.has(`${kind}.${group} ${field}`));
        if (fields.length === 0 || known.size > MOST) continue;
        for (const field of fields) known.add(`${kind}.${group} ${field}`);
        const command = isOfCrd || groups.has(group) ? crdCommand(checkout) : Promise.resolve(undefined);
        told = Promise.all([command, told]).then(([text]) => {
          if (signal.aborted) return;
          emit(notice('fields.pruned', { group, kind, fields, ...(text && { command: text }) }));
        });
      }
    },
  };
}

function prunedBy(event: DevloopEvent): Pruned[] {
  if (event.type === 'call') return prunedInCall(event);
  if (event.type === 'reconcile') return event.calls.flatMap(prunedInCall);
  if (event.type !== 'review' || event.pruned === undefined || event.resource === undefined) return [];
  const fields = event.pruned.filter(({ why }) => why === 'not-in-crd').map(({ field }) => field);
  const { group, kind } = event.resource;
  return [{ group, kind, fields, isOfCrd: true }];
}

interface WarnedCall {
  group?: string;
  kind?: string;
  warnings?: string[];
}

/** kube-apiserver itself says it, unless the client has asked for `fieldValidation=Ignore`. */
function prunedInCall({ group, kind, warnings = [] }: WarnedCall): Pruned[] {
  if (group === undefined || kind === undefined) return [];
  const fields = warnings.flatMap((text) => /^unknown field "(.+)"$/.exec(text)?.[1] ?? []);
  const each = new Set(fields.map((field) => field.replaceAll(/\[\d+\]/g, '[]')));
  return [{ group, kind, fields: [...each], isOfCrd: false }];
}
