import type { observeCalls } from '../calls/observed-calls.ts';
import { accountOf } from './identity.ts';
import type { Session } from './session.ts';

/** Where the controller's calls are recorded, and whose they are. */
export function callsOf(session: Session): Parameters<typeof observeCalls>[0] {
  const { context, target, files } = session;
  const { context: name, server, kubeconfigFiles: kubeconfig } = context.api;
  const account = accountOf(session);
  const cluster = { context: name, server, kubeconfig };
  const { namespace } = target;
  const of = { since: new Date().toISOString(), cluster, namespace, ...(account && { account }) };
  return { directory: files.directory, redact: context.settings.redact.value ?? [], of };
}
