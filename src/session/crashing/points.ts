import type { CallRecord } from '../../calls/record.ts';
import { DevloopError } from '../../errors.ts';
import { isRule, NoRule, parseRule } from '../../faults/parse.ts';
import { isAbout, type Subject } from '../../faults/rule.ts';
import type { Names } from './names.ts';

/** A write at which the controller is killed. */
export interface CrashPoint {
  /** The fault that does it. */
  rule: string;
  /** `create Deployment default/web`. */
  write: string;
}

/**
 * Where the controller can be killed: at each write that has changed something. The order of writes varies from run to run, so a point is the
 * nth write with this verb to an object of this name, and not a position. `when`: before the write, or after it.
 */
export function crashPoints(
  records: readonly CallRecord[],
  names: Names,
  when: 'before' | 'after',
): CrashPoint[] {
  const writes = records.filter(when === 'after' ? hasSucceeded : ({ isWrite }) => isWrite);
  const points = writes.flatMap((record, index) => {
    if (!hasSucceeded(record) || record.isUnchanged || !record.resource) return [];
    const effect = when === 'after' ? 'crash' : 'crash-before';
    const name = names.of(record);
    const place = { namespace: record.namespace, name };
    const limits = Object.entries(place).flatMap(([key, text]) => (text ? [`${key}=${text}`] : []));
    const about = [effect, record.verb, inFull(record), ...limits].join(' ');
    // A ClusterRole can have a name that no rule can have.
    if (!isRule(about)) return [];
    const rule = parseRule(about);
    const nth = writes.slice(0, index + 1).filter((one) => isAbout(rule, subjectOf(one))).length;
    const object = [record.namespace, name].filter(Boolean).join('/');
    const what = `${record.verb} ${wordFor(record)} ${object}`.trimEnd();
    return [{ rule: `${about} nth=${nth}`, write: nth === 1 ? what : `${what} (${nth})` }];
  });
  return [...new Map(points.map((point) => [point.rule, point])).values()];
}

export function hasSucceeded({ isWrite, isOwn, code = 500 }: CallRecord): boolean {
  return isWrite === true && !isOwn && code < 400;
}

/** `deployments.apps/status`. */
function inFull({ resource = '', group }: CallRecord): string {
  const [plural, subresource] = resource.split('/');
  return [[plural, group].filter(Boolean).join('.'), subresource].filter(Boolean).join('/');
}

function wordFor({ kind, resource = '' }: CallRecord): string {
  const [plural = '', subresource] = resource.split('/');
  return [kind ?? plural, subresource].filter(Boolean).join('/');
}

function subjectOf({ verb, group, resource = '', namespace, name }: CallRecord): Subject {
  const [plural = '', subresource] = resource.split('/');
  const what = { verb, resource: plural };
  const place = { group, subresource, namespace, name };
  return Object.assign(what, Object.fromEntries(Object.entries(place).filter(([, text]) => text)));
}

/** The fault in full. Throws 'usage.invalid' for a text that is no crash. */
export function crashIn(text: string): string {
  try {
    const rule = parseRule(text);
    if (rule.effect.do === 'crash') return rule.text;
  } catch (error) {
    if (!(error instanceof NoRule)) throw error;
  }
  throw new DevloopError('usage.invalid', `--point ${text}: this is no crash at a write.`, {
    hint: "Such as --point 'crash create deployments name=web nth=1', as an earlier `devloop crashtest` prints it.",
  });
}
