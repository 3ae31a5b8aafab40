import { shellWord } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What is known about the user's operator, and what of it does not run here. */
export const OPERATOR = {
  /** A Service matches the checkout, but selects the Pods of another workload, so it stays as it is. */
  'service.of-another': note<{ service: ObjectName; manager: ObjectName }>(
    ({ service, manager }) =>
      `${describe(service)} also matches this checkout, but does not select the Pods of ${describe(manager)}. It stays unchanged.`,
  ),
  /** A webhook configuration calls a Service that does not exist. */
  'service.missing': warning<{ service: ObjectName; caller?: ObjectName }>(
    ({ service, caller }) =>
      `${missingService(service, caller)}. Reviews for it fail, and devloop does not change that.`,
  ),
  /** Nothing answers on these ports of a Service during the session, because no webhook uses them. */
  'service.other-ports': warning<{ service: ObjectName; ports: (string | number)[] }>(
    ({ service, ports }) =>
      `${describe(service)} has ports that no webhook uses (${ports.join(', ')}); they are unreachable while devloop takes the Service over.`,
  ),
  /** Webhooks are called by URL, so they cannot be routed here. `manager`: what is paused. */
  'webhooks.by-url': warning<{ calls: UrlCall[]; manager?: ObjectName }>(({ calls, manager }) => {
    const paused = manager && ` If ${describe(manager)} answers them, they fail while it is paused.`;
    return `Webhooks of this checkout ${calledByUrl(calls)}${paused ?? ''}`;
  }),
  /** Webhooks are called through an aggregated API, so they cannot be routed here. */
  'webhooks.through-api': note<{ api: ObjectName; service: ObjectName }>(
    ({ api, service }) =>
      `Webhooks of this checkout are called through APIService ${api.name}, which cannot be routed here. ${describe(service)} answers them in the cluster.`,
  ),
  /** Nothing calls these webhooks, or any webhook of the checkout (`areAll`), in which case there is no route. */
  'webhooks.off': note<{ paths: string[]; areAll: boolean }>(({ paths, areAll }) => {
    if (!areAll)
      return `No webhook configuration calls ${paths.join(', ')} of this checkout, so ${paths.length === 1 ? 'this webhook is' : 'these webhooks are'} off.`;
    const which = paths.length === 0 ? '' : ` (${paths.join(', ')})`;
    return `No webhook configuration calls the webhooks of this checkout${which}, so they are off, and the controller runs without a route.`;
  }),
  /** Other Deployments of the same operator keep running in the cluster. `together`: those that one `up` could run, next to the manager. */
  'operator.siblings': note<{ siblings: ObjectName[]; together: ObjectName[] }>(({ siblings, together }) => {
    const list = siblings.map(describe).join(', ');
    const all = together.map(({ namespace, name }) => `--deployment ${shellWord(`${namespace}/${name}`)}`);
    return `${list}, of the same operator, ${siblings.length === 1 ? 'keeps' : 'keep'} running in the cluster. To run more than one here: devloop up ${all.join(' ')}`;
  }),
  /** Containers of the manager's Pod that do not run during the session. */
  'manager.other-containers': note<{ container: string; others: string[] }>(
    ({ container, others }) =>
      `The manager is container ${container}. The other containers of its Pod do not run here: ${others.join(', ')}.`,
  ),
};

/** `Service shop/webhooks does not exist, but CustomResourceDefinition x calls it` */
export function missingService(service: ObjectName, caller: ObjectName | undefined): string {
  return `${describe(service)} does not exist${caller ? `, but ${describe(caller)} calls it` : ''}`;
}

interface UrlCall {
  from: ObjectName;
  url: string;
}

export function calledByUrl(calls: UrlCall[]): string {
  const which = calls.map(({ from, url }) => `${describe(from)} (${url})`).join(', ');
  return `are called by URL, which cannot be routed here: ${which}.`;
}
