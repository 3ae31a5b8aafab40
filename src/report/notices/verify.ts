import { note, warning } from './notice.ts';

/** The manager of `reviews verify`, and its API server. */
export const VERIFY = {
  /** The manager ran without a cluster, which may be why its answers changed. */
  'verify.without-cluster': note(
    () =>
      `The manager ran without a cluster. If its webhooks have to read from the API server, ${USE_AN_API_SERVER}`,
  ),
  /** Without a cluster, the set could not be verified, so devloop starts the API server of envtest in `assets`. `error`: the code of the failure. */
  'verify.tries-envtest': note<{ error?: string; cause: string; assets: string }>(
    ({ cause, assets }) =>
      `${cause}\nThat was without a cluster, so devloop tries again with the API server in ${assets}.`,
  ),
  /** The manager looks up kinds before it serves, so devloop starts it again with those that it knows. */
  'verify.with-kinds': note(
    () =>
      "The manager looks up kinds before it serves. devloop starts it again, with a stand-in for the API server that lists the built-in kinds and those of the checkout's CRDs.",
  ),
  /** The manager uses the API server of a kubeconfig, and reconciles what is there. */
  'verify.named-cluster': warning<{ context: string; server: string }>(
    ({ context, server }) =>
      `The manager uses the API server of context ${context} (${server}), so its controllers reconcile the objects there.`,
  ),
  /** A variable that switches webhooks on is set as in a manifest of the checkout. */
  'verify.switched-on': note<{ variable: string; value: string }>(
    ({ variable, value }) => `${variable}=${value}\nis set, as in a manifest of the checkout.`,
  ),
  /** The manager's Deployment was not found, so the manager starts with its own defaults. */
  'verify.not-deployed': note<{ cause: string }>(
    ({ cause }) =>
      `The manager gets no arguments, variables and mounted files of its Deployment, because it was not found there:\n${cause}`,
  ),
  /** A CRD of the checkout could not be installed in envtest. */
  'verify.crd-not-installed': warning<{ crd: string; cause: string }>(
    ({ crd, cause }) => `The CRD ${crd} could not be installed: ${cause}`,
  ),
};

export const USE_AN_API_SERVER =
  'let it use the API server of envtest: export KUBEBUILDER_ASSETS="$(setup-envtest use -p path)"\nor that of a test cluster in which the operator is deployed: devloop reviews verify NAME --api-server KUBECONFIG';
