import { counted, shellWord, sizeText, withNames } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

const WRITE_LESS =
  'Write only if something is different from what is there (in Go: equality.Semantic.DeepEqual), and leave times and counters out of that. If only changes of the spec matter, let nothing else wake the controller (predicate.GenerationChangedPredicate).';

/** Recorded calls and reconciles of the controller, and what is wrong if they repeat. */
export const CALLS = {
  /**
   * More calls of the controller arrived than devloop can record. `calls`: how many were not recorded until now, with events of watches; it is
   * said again after ten minutes. `loop`: what keeps the controller busy, if that is known.
   */
  'calls.not-listed': warning<{ calls: number; loop?: { controller: string; object: ObjectName } }>(
    ({ calls, loop }) => {
      const what = calls === 1 ? 'a call or an event' : `${calls} calls and events`;
      const busy =
        loop === undefined
          ? ''
          : ` Controller ${loop.controller} reconciles ${describe(loop.object)} again and again.`;
      return `devloop could not record ${what} of the controller until now, because these are more than it can record.${busy}`;
    },
  ),
  /** The recording is behind, so of the reconciles of a loop that is known only one of so many is recorded. */
  'reconciles.sampled': warning<{ controller: string; object: ObjectName; each: number }>(
    ({ controller, object, each }) =>
      `Controller ${controller} reconciles ${describe(object)} more often than devloop can record, so only one of ${each} of these reconciles is recorded while that goes on.`,
  ),
  /** The recording of calls cannot be written, so `devloop calls` lacks those that follow. */
  'calls.not-recorded': warning<{ cause: string }>(
    ({ cause }) => `The controller's calls are no longer recorded: ${cause}`,
  ),
  /** No recorded call or reconcile fits. `recorded`: how many there are. */
  'calls.none': note<{ what: 'calls' | 'reconciles'; session: string; recorded: number }>(
    ({ what, session, recorded }) =>
      recorded === 0
        ? `Session ${session} has recorded no ${what} yet.`
        : `None of the ${recorded} ${what} that session ${session} has recorded fits.`,
  ),
  /** The controller writes, and nothing says which reconcile a write is of, so there are no reconciles to list. `writes`: how many are recorded. */
  'reconciles.untagged': note<{ session: string; writes: number }>(
    ({ session, writes }) =>
      `Session ${session} has recorded ${counted(writes, 'write')}, and no reconcile. devloop knows the reconciles only of Go programs with controller-runtime that it builds itself. \`devloop calls --writes\` lists each write with what changed shortly before it, and \`devloop timeline KIND/NAME\` what happened to one object.`,
  ),
  /** Nothing is recorded about this object. */
  'timeline.none': note<{ object: ObjectName; session: string }>(
    ({ object, session }) => `Session ${session} has recorded nothing about ${describe(object)}.`,
  ),
  /**
   * kube-apiserver drops fields that a webhook sets or the controller writes, because the cluster does not have them. `command` updates the CRD;
   * absent if the checkout does not define the kind.
   */
  'fields.pruned': warning<{ group: string; kind: string; fields: string[]; command?: string }>(
    ({ kind, fields, command }) =>
      `kube-apiserver drops ${fields.join(', ')} of each ${kind}, because the cluster's ${command === undefined ? 'version of that kind' : 'CRD'} does not have ${fields.length === 1 ? 'that field' : 'those fields'}.`,
    ({ command }) => command,
  ),
  /** The controller cannot tell which reconcile makes a call. */
  'calls.no-reconciles': note<{ cause: string }>(
    ({ cause }) => `devloop cannot show reconciles, only calls: ${cause}`,
  ),
  /**
   * An object is reconciled again and again, each time because the reconcile before has written. `fields`: what it wrote, and how often; those of
   * other objects after their names. All warnings of this kind are said again after ten minutes, with how often it happened since.
   */
  'reconciles.wake-themselves': warning<Repeated & { fields: FieldTimes[] }>(
    ({ controller, object, fields, ...often }) =>
      `${controllerText(controller)} has reconciled ${describe(object)} ${oftenText(often)}, each time after its own write${ofFields(fields, often.times)}.`,
    (often) => `${WRITE_LESS} ${lookText(often)}`,
  ),
  /**
   * A program whose calls belong to no reconcile writes an object again and again, each time at once after the event of its own write. `fields`:
   * what it had written.
   */
  'calls.after-own': warning<Repeated & { fields: FieldTimes[] }>(
    ({ controller, object, fields, ...often }) =>
      `${controllerText(controller)} has written ${describe(object)} ${oftenText(often)}, each time shortly after the event of its own write${ofFields(fields, often.times)}.`,
    (often) => `${WRITE_LESS} ${lookText(often)}`,
  ),
  /** The controller writes an object again and again, and nothing changes. `controller`: absent if it is not known. */
  'calls.unchanged': warning<Repeated & { verb: string }>(
    ({ controller, object, verb, ...often }) =>
      `${controllerText(controller)} has written ${describe(object)} ${oftenText(often)} (${verb}), and nothing has changed.`,
    ({ verb, ...often }) =>
      verb === 'apply'
        ? `Nothing had happened before these applies: let the controller watch what it waits for, or use a longer RequeueAfter. ${lookText(often)}`
        : `Compare with what is there before you write: in Go, controllerutil.CreateOrUpdate and CreateOrPatch do. ${lookText(often)}`,
  ),
  /**
   * Writes of the same object are refused again and again, because somebody else has written it, or owns the fields that are applied, and no
   * write succeeds in between, or few do. `times`: how many were refused.
   */
  'calls.conflicts': warning<Repeated & { verb: string; cause: string }>(
    ({ controller, object, cause, ...often }) =>
      `${controllerText(controller)} has had conflicts with its writes of ${describe(object)} ${oftenText(often)}, and few or none succeeded in between: ${cause}`,
    ({ verb, ...often }) =>
      verb === 'apply'
        ? `Apply only the fields that are yours, or take over the others (in Go: client.ForceOwnership). ${lookText(often)}`
        : `Read the object again before each attempt (in Go: retry.RetryOnConflict), send a patch with only your fields, or end the reconcile and let it run again. ${lookText(often)}`,
  ),
  /** The controller and somebody else change the same fields of an object in turn. `by`: the other one, as managedFields name it. */
  'calls.contested': warning<Repeated & { by: string; fields: FieldTimes[] }>(
    ({ controller, object, by, fields, ...often }) =>
      `${controllerText(controller)} and ${by} have changed ${describe(object)} in turn, ${oftenText(often)} each${ofFields(fields, often.times)}.`,
    (often) =>
      `Let only one of them write the field: leave it out of what the controller writes if it is not yours, as spec.replicas of a Deployment with a HorizontalPodAutoscaler. ${lookText(often)}`,
  ),
  /**
   * A deleted object waits for a finalizer of the controller, which has reconciled it, will not come back by itself, and waits for nothing that
   * devloop sees. `seconds`: since it was deleted. It is said for one object of those with the same finalizer, in ten minutes.
   */
  'reconciles.finalizer-left': warning<{
    controller?: string;
    object: ObjectName;
    finalizers: string[];
    reconciles: number;
    seconds: number;
  }>(
    ({ controller, object, finalizers, reconciles, seconds }) =>
      `${describe(object)} was deleted ${seconds} s ago and is still there: ${controllerText(controller)} has reconciled it ${counted(reconciles, 'time')} since without an error, and has not removed its ${withNames('finalizer', finalizers)}. Nothing has happened to it for a minute.`,
    ({ object }) =>
      `Remove the finalizer when the clean-up is done (in Go: controllerutil.RemoveFinalizer, and then Update or Patch), or let the reconcile run again until then (RequeueAfter). ${timelineText(object)} shows what the controller did.`,
  ),
  /**
   * client-go holds calls of the controller back, as its log says, because they are more than its rest.Config allows. `times`: how often
   * devloop has seen that, at most once in ten seconds. `calls`: the most frequent ones of the last two minutes.
   */
  'calls.throttled': warning<{
    times: number;
    seconds: number;
    longestSeconds: number;
    calls: { call: string; times: number }[];
  }>(
    ({ longestSeconds, calls, ...often }) =>
      `client-go has held back calls of the controller for up to ${longestSeconds} s, because they exceed the limit that it sets itself (seen ${oftenText(often)})${ofCalls(calls)}.`,
    () =>
      "Make fewer calls (`devloop calls --since 2m` lists them): read from the manager's cache, and write only what differs. Or raise the limit (in Go: QPS and Burst of the rest.Config; QPS -1 leaves it to the API server's priority and fairness).",
  ),
  /**
   * The controller has listed all objects of a resource, in all namespaces and without a selector, and these were more than 10 MiB. `items`: how
   * many objects, if that is known. `hasObjects`: more than their metadata.
   */
  'calls.large-list': warning<{
    group: string;
    resource: string;
    bytes: number;
    items?: number | undefined;
    hasObjects: boolean;
    times: number;
    seconds: number;
  }>(
    ({ resource, bytes, items, times, seconds }) => {
      const all = items === undefined ? `all ${resource}` : `all ${items} ${resource}`;
      const often = times === 1 ? '' : `, ${oftenText({ times, seconds })}`;
      return `The controller has listed ${all} of the cluster, ${sizeText(bytes)}${often}. In its memory, they take several times as much.`;
    },
    ({ resource, hasObjects }) => {
      const metadata = hasObjects ? ', only for their metadata (metav1.PartialObjectMetadata)' : '';
      return `Ask only for those that the controller needs, with a selector or in some namespaces (in Go: cache.Options.ByObject)${metadata}, or for single objects without a cache (client.CacheOptions.DisableFor). \`devloop calls --kind ${shellWord(resource)}\` lists these calls.`;
    },
  ),
  /**
   * A watch of the controller ends early and is opened again, again and again, although the API server is there. `code`, `cause`: the status
   * with which the API server ended it last; 200 without a cause if it just ended.
   */
  'calls.watch-restarts': warning<{
    group: string;
    resource: string;
    namespace?: string | undefined;
    times: number;
    seconds: number;
    code: number | undefined;
    cause?: string | undefined;
  }>(
    ({ resource, namespace, code, cause, ...often }) => {
      const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
      const why = cause === undefined ? '' : `: ${cause} (${code})`;
      return `kube-apiserver has ended the controller's watch of ${resource}${where} early, ${oftenText(often)}, and the controller has opened it again${why}.`;
    },
    ({ resource, code }) =>
      `${restartCure(code)} \`devloop calls --verb watch --kind ${shellWord(resource)}\` lists these watches.`,
  ),
};

/** What to do about a watch that ends early with this status. */
function restartCure(code: number | undefined): string {
  if (code === 410)
    return 'The version at which the watch begins is no longer there: list again, and watch from the version of that list, as informers do.';
  if (code === 404)
    return 'kube-apiserver does not serve it: check the version that the controller asks for, and whether the CustomResourceDefinition is there.';
  if (code === 405)
    return 'Objects of this resource cannot be watched: read them without a cache (in Go: client.CacheOptions.DisableFor, or mgr.GetAPIReader).';
  if (code !== 200) return 'Correct what the watch asks for.';
  return 'A watch ends when its CustomResourceDefinition changes (its managedFields say who writes it), or when the controller does not read its events.';
}

interface Repeated {
  controller?: string;
  /** If the kind is not known, the plural that the path has. */
  object: ObjectName;
  /** The id of the last reconcile, or of the last call, that was seen. */
  last: string;
  times: number;
  seconds: number;
}

/** How often a field was written. */
export interface FieldTimes {
  field: string;
  times: number;
}

function controllerText(name: string | undefined): string {
  return name === undefined ? 'The controller' : `Controller ${name}`;
}

function oftenText({ times, seconds }: { times: number; seconds: number }): string {
  const each = times >= 2 * seconds ? ` (${Math.round(times / seconds)} a second)` : '';
  return `${times} times in ${seconds} s${each}`;
}

function lookText({ last, object }: Pick<Repeated, 'last' | 'object'>): string {
  const what = last.startsWith('k') ? 'reconciles' : 'calls';
  return `\`devloop ${what} ${shellWord(last)}\` shows the last one, and ${timelineText(object)} what happens to the object.`;
}

function timelineText({ kind, namespace, name }: ObjectName): string {
  const where = namespace === undefined ? '' : ` -n ${shellWord(namespace)}`;
  return `\`devloop timeline ${shellWord(`${kind}/${name}`)}${where}\``;
}

function ofCalls(calls: { call: string; times: number }[]): string {
  const texts = calls.map(({ call, times }) => `${call} (${counted(times, 'time')})`);
  return texts.length === 0 ? '' : `; the most frequent ones: ${texts.join(', ')}`;
}

/** `: status.seen, spec.replicas (4 times)` */
function ofFields(fields: FieldTimes[], all: number): string {
  const texts = fields.map(({ field, times }) =>
    times === all ? field : `${field} (${counted(times, 'time')})`,
  );
  return texts.length === 0 ? '' : `: ${texts.join(', ')}`;
}
