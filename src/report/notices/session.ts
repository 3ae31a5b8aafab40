import { timeText, withNames } from '../../phrases.ts';
import { type ActionName, keysHelp } from '../actions.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What concerns a session from its start until it ends. */
export const SESSION = {
  /** Nothing in the cluster matches the checkout, so nothing is taken over, and the controller just runs here. */
  'session.alone': note(
    () =>
      'No operator in the cluster matches this checkout, so no webhook is redirected and nothing is paused: the controller just runs here, as `make run` would run it. If it is deployed, name it with --deployment.',
  ),
  /** The account may not write Leases, so no other session sees this one. `cause`: the API server's refusal; absent in a dry run. */
  'session.no-leases': warning<{ cause?: string }>(({ cause }) =>
    cause === undefined
      ? 'Your account is not allowed to create Leases, so somebody else who takes over this operator gets no warning.'
      : `The Lease that shows others who is using this operator cannot be created, so they get no warning when they take it over: ${cause}`,
  ),
  /** The session's Lease could not be renewed in time, so others see the session as dead until it is. */
  'session.lease-outdated': warning<{ seconds: number; cause: string }>(
    ({ seconds, cause }) =>
      `The Lease of this session has not been renewed for ${seconds} s: ${cause}. Until it is, others see the session as dead and can take it over.`,
  ),
  /** The user asked for `--api direct`, so the controller calls the API server with the user's kubeconfig. */
  'api.direct': note(
    () =>
      'The controller calls the API server directly, with your account: devloop does not see its calls, and does not stop its writes if this session loses its Lease.',
  ),
  /** The session's Lease is not known to be its own any more, so the API proxy lets nothing be written. `isLost`: somebody else has it. */
  'api.fenced': warning<{ isLost: boolean }>(({ isLost }) =>
    isLost
      ? 'This session has lost its Lease, so devloop refuses what the controller writes.'
      : 'Until the Lease of this session is renewed, devloop refuses what the controller writes; reviews are answered.',
  ),
  /** The Lease was renewed, so the controller may write again. */
  'api.unfenced': note(() => 'The Lease of this session is renewed, and the controller may write again.'),
  /** A process outside the controller's process group outlived it and still calls the API proxy. Once a session. */
  'api.left-behind': warning(
    () =>
      'A process that the controller has left behind still calls the API server, although the controller has ended. devloop refuses its calls. Let the controller end the processes that it starts.',
  ),
  /** The socket over which other terminals control the session cannot be created. */
  'session.no-socket': note<{ cause: string }>(
    ({ cause }) =>
      `Other terminals cannot control this session, because its socket cannot be created: ${cause}`,
  ),
  /** What the controller prints cannot be written to this machine's disk, so `devloop logs` does not have it. */
  'output.not-kept': warning<{ cause: string }>(
    ({ cause }) => `\`devloop logs\` will not have all that the controller prints: ${cause}.`,
  ),
  /** `devloop logs`: no session of this checkout runs, so this is the output of one that has ended. */
  'output.of-ended': note<{ session: string }>(({ session }) => `session ${session}, which has ended`),
  /** `up --detach`: the session is ready, and goes on in the background. `file`: where its process prints to. */
  'session.detached': note<{ session: string; pid: number; file: string; idleSeconds: number }>(
    ({ session, pid, file, idleSeconds }) =>
      [
        `session ${session} goes on in the background (pid ${pid}), and ends after ${timeText(idleSeconds)} without a save, a review or a command`,
        'to see it: devloop logs -f, or devloop status',
        'to end it: devloop down',
        `its output: ${file}`,
      ].join('\n'),
  ),
  /** A session of `up --detach` ends, because nobody has used it for so long. */
  'session.idle': note<{ seconds: number }>(
    ({ seconds }) => `this session ends after ${timeText(seconds)} without a save, a review or a command`,
  ),
  /** Somebody pressed the key that lists the keys. */
  'session.keys': note(keysHelp),
  /** A session does not do now what a key, the page or a command asks for. */
  'action.refused': note<{ action: ActionName; cause: string }>(({ cause }) => cause),
  /** Somebody logged in again with a key, and the cluster accepts the login. */
  'session.logged-in': note(() => 'the cluster accepts your login'),
  /** A key has changed which lines of the controller's log are shown. `shows`: as the setting `controller.log` names them. */
  'controller.log-toggled': note<{ shows: keyof typeof LOG_SHOWN }>(({ shows }) => LOG_SHOWN[shows]),
  /** devloop was asked to end, and restores what was changed. `reason`: the key or the signal. */
  'session.ending': note<{ reason: string }>(
    ({ reason }) =>
      `${reason}: restoring what was changed. A second Ctrl-C exits at once; then run \`devloop down\` to restore the rest.`,
  ),
  /** The session is suspended, and answers no reviews until it continues. */
  'session.suspended': warning(
    () => 'devloop is suspended. Until it continues, it answers no reviews, so they fail.',
    () => 'To continue: fg\nTo restore the cluster: devloop down',
  ),
  /** With --no-controller: the user can start their process. `port`: where it is awaited, if the operator has webhooks. */
  'session.start-process': note<{ port?: string | number; keyPairDirectory: string; isPaused: boolean }>(
    ({ port, keyPairDirectory, isPaused }) =>
      port === undefined
        ? `Start your process now${isPaused ? '; the in-cluster manager is paused' : ''}.`
        : `Start your process now: reviews wait for it at 127.0.0.1:${port}. Its key pair is in ${keyPairDirectory}.`,
  ),
  /** The controller's Lease could not be freed after it ended, so the next one leads only when the Lease has expired. `error`: the code of the error. */
  'leader.not-released': note<{ lease: ObjectName; error?: string; cause: string }>(
    ({ lease, error, cause }) => {
      const what =
        error === 'cluster.forbidden' ? 'Your account is not allowed to free' : 'devloop could not free';
      return `${what} ${describe(lease)}, so after each restart the controller leads only when this Lease has expired:\n${cause}`;
    },
  ),
  /** The CRDs, roles and webhook configurations of the checkout cannot be compared with the cluster's. */
  'manifests.not-compared': warning<{ cause: string }>(
    ({ cause }) => `The manifests of this checkout cannot be compared with the cluster: ${cause}`,
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

/** By the values of the setting `controller.log`. */
const LOG_SHOWN = {
  all: "all of the controller's log is shown; l shows less of it again",
  warnings: "only the warnings and errors of the controller's log are shown; l shows all of it",
  off: "the controller's log is hidden; l shows it",
};
const MEANS = 'requests to it fail, and namespaces are deleted only when the session has ended.';
const IN_CLUSTER = 'If the controller fails here because of that API, turn the API off in its configuration.';

/** `APIService v1.a, which is` */
function whichAre(apis: string[]): string {
  return `${withNames('APIService', apis)}, which ${apis.length === 1 ? 'is' : 'are'}`;
}
