import { note, warning } from './notice.ts';

/** `up --embedded`. */
export const EMBEDDED = {
  /** The session's own API server runs, and has what the checkout would deploy. `kubeconfig`: for other programs. */
  'embedded.started': note<{ kubeconfig: string }>(
    ({ kubeconfig }) =>
      `An API server of this session's own runs on this machine. It has no nodes, so nothing runs Pods or collects garbage. For kubectl: export KUBECONFIG=${kubeconfig}`,
  ),
  /** An object of the checkout is not in the session's own API server. */
  'embedded.left-out': warning<{ kind: string; name: string; why: string }>(
    ({ kind, name, why }) => `${kind} ${name} is left out: ${why}.`,
  ),
};
