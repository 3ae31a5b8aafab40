import { firstOf } from '../../phrases.ts';
import { note, warning } from './notice.ts';

/** Manifests that controller-gen writes, and those of `up --embedded`. */
export const GENERATED = {
  /** The checkout's manifests are missing or older than its code, so the session uses what controller-gen writes now. Nothing of the checkout is changed. */
  'manifests.generated': note<{ missing: string[]; old: string[]; command: string }>(
    ({ missing, old, command }) =>
      `${staleText(missing, old)}. This session uses what controller-gen writes now, and leaves the checkout as it is (to write it there: ${command})`,
  ),
  /** The checkout does not have a manifest that its code asks for. In a cluster, devloop applies none. */
  'manifests.missing': warning<{ file: string; command: string }>(
    ({ file }) => `The checkout has no ${file}, which is generated from the code.`,
    ({ command }) => command,
  ),
  /** A manifest of the checkout is older than the code. In a cluster, devloop applies none. */
  'manifests.old': warning<{ file: string; changes: string[]; command: string }>(
    ({ file, changes }) => `${file} is older than the code: ${firstOf(changes)}.`,
    ({ command }) => command,
  ),
  /** The checkout's manifests look older than its code, and devloop cannot generate them. */
  'manifests.maybe-old': warning<{ directories: string[]; why: string; command: string }>(
    ({ directories, why }) =>
      `${firstOf(directories)} is older than the code that it is generated from, and ${why}.`,
    ({ command }) => command,
  ),
  /** controller-gen fails, so manifests that may be old are used. */
  'manifests.not-generated': warning<{ cause: string; command: string }>(
    ({ cause }) => `The manifests may be older than the code: ${cause}`,
    ({ command }) => command,
  ),
  /** The overlay of the checkout leaves out its webhooks, so the session adds them. */
  'manifests.webhooks-added': warning<{ directory: string; webhooks: string }>(
    ({ directory, webhooks }) => `${directory} leaves out ${webhooks}; devloop adds it in this session.`,
    ({ directory }) =>
      `Before a deployment, uncomment the sections [WEBHOOK] and [CERTMANAGER] of ${directory}/kustomization.yaml.`,
  ),
  /** The overlay of the checkout leaves out its webhooks, and cannot be rendered with them. */
  'manifests.webhooks-not-added': warning<{ directory: string; webhooks: string; cause: string }>(
    ({ directory, webhooks, cause }) =>
      `${directory} leaves out ${webhooks}, so no webhook is called. devloop cannot add it: ${cause}`,
    ({ directory }) =>
      `Uncomment the sections [WEBHOOK] and [CERTMANAGER] of ${directory}/kustomization.yaml.`,
  ),
  /** Objects of the session's own API server follow the checkout, which has changed. */
  'manifests.updated': note<{ objects: string[] }>(
    ({ objects }) => `The session's API server follows the checkout: ${objects.join(', ')}.`,
  ),
  /** The checkout has changed, and its manifests cannot be rendered. */
  'manifests.not-updated': warning<{ cause: string }>(
    ({ cause }) => `The session's API server keeps its objects: ${cause}`,
  ),
  /** A webhook Service is new in the checkout; only a new session serves it. */
  'manifests.new-service': warning<{ services: string[] }>(
    ({ services }) => `${services.join(', ')} is new, and this session does not serve it.`,
    () => 'Press Ctrl-C, then start devloop again.',
  ),
};

function staleText(missing: string[], old: string[]): string {
  const parts = [
    ...(missing.length === 0 ? [] : [`Not in the checkout: ${firstOf(missing)}`]),
    ...(old.length === 0 ? [] : [`Older than the code: ${firstOf(old)}`]),
  ];
  return parts.join('. ');
}
