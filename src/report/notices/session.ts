import { withNames } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What concerns a session from its start until it ends. */
export const SESSION = {
  /** Nothing in the cluster matches the checkout, so nothing is taken over, and the controller just runs here. */
  'session.alone': note(
    () =>
      'No operator in the cluster matches this checkout, so no webhook is redirected and nothing is paused: the controller just runs here, as `make run` would run it. If it is deployed, name it with --deployment.',
  ),
  /** In a dry run: the account may not write Leases, so no other session would see this one. */
  'session.no-leases': warning(
    () =>
      'Your account is not allowed to create Leases, so somebody else who takes over this operator gets no warning.',
  ),
  /** The socket over which other terminals control the session cannot be created. */
  'session.no-socket': note<{ cause: string }>(
    ({ cause }) =>
      `Other terminals cannot control this session, because its socket cannot be created: ${cause}`,
  ),
  /** The page cannot be served. */
  'page.not-served': warning<{ cause: string }>(({ cause }) => `The page cannot be served: ${cause}`),
  /** devloop has forgotten to what the user had agreed in a context. */
  'context.forgotten': note<{ context: string; server: string; agreed: string[] }>(
    ({ context, server, agreed }) =>
      `devloop has forgotten context ${context} (${server}), in which you had agreed to:\n${agreed.map((one) => `  ${one}`).join('\n')}`,
  ),
  /** A new version of the manager was applied, but the controller cannot be run for it, so it keeps its arguments. */
  'manager.not-followed': warning<{ cause: string }>(
    ({ cause }) =>
      `A new version of the manager was applied, but devloop could not work out how to run the controller for it: ${cause}`,
    () => 'The controller keeps its arguments. To use the new ones, run devloop up again.',
  ),
  /** Aggregated APIs have this Service as their backend, too, so they are unavailable during the session. */
  'apis.of-service': warning<{ service: ObjectName; apis: string[] }>(
    ({ service, apis }) =>
      `${describe(service)} also backs ${whichAre(apis)} unavailable while the Service is taken over: ${MEANS}`,
    () => IN_CLUSTER,
  ),
  /** Pods of the manager serve aggregated APIs, too, which are unavailable during the session. */
  'apis.of-manager': warning<{ manager: ObjectName; apis: string[] }>(
    ({ manager, apis }) =>
      `${describe(manager)} also backs ${whichAre(apis)} unavailable while the ${manager.kind} is paused: ${MEANS}`,
    () =>
      `To keep serving that API in the cluster, if the manager elects a leader: devloop up --pause lease\n${IN_CLUSTER}`,
  ),
  /** The sources can require client certificates of the webhooks' callers, and devloop has none. */
  'webhooks.client-certificates': warning<{ source: string }>(
    ({ source }) =>
      `The sources can require client certificates of callers of the webhooks (${source}). devloop has none to present, so it ends the session if the controller requires one.`,
  ),
  /** The controller, or the process of the user, answers 404 to the reviews of a webhook. */
  'webhooks.answered-404': warning<{ who: string; path: string }>(
    ({ who, path }) => `${who} answers 404 on ${path}, so the reviews of this webhook fail.`,
    () =>
      'If your code does not serve this path yet, add its handler, and start the process again. Check the arguments and variables that switch webhooks on.',
  ),
  /** devloop no longer asks the controller which webhooks it serves, because it ended when it was asked. */
  'webhooks.not-asked': note(
    () =>
      'The controller ended while devloop sent it reviews without an object, to see which webhooks it serves.\nSo devloop does not ask it again in this session, and forwards all reviews.',
  ),
  /** Whether the controller serves these paths shows only at a real review. */
  'webhooks.unclear': warning<{ paths: string[] }>(
    ({ paths }) =>
      `The controller answers 404 to devloop's review of a kind that does not exist on ${paths.join(', ')}, as on any other path. So only a real review shows whether it serves this webhook.`,
  ),
};

const MEANS = 'requests to it fail, and namespaces are deleted only when the session has ended.';
const IN_CLUSTER = 'If the controller fails here because of that API, turn the API off in its configuration.';

/** `APIService v1.a, which is` */
function whichAre(apis: string[]): string {
  return `${withNames('APIService', apis)}, which ${apis.length === 1 ? 'is' : 'are'}`;
}
