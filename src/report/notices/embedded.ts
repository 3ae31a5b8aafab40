import { shellWord } from '../../phrases.ts';
import { note, warning } from './notice.ts';

/** `up --embedded`. */
export const EMBEDDED = {
  /** The session's own API server runs, and has what the checkout would deploy. `kubeconfig`: for other programs. */
  'embedded.started': note<{ kubeconfig: string }>(
    ({ kubeconfig }) =>
      `An API server of this session's own runs on this machine. It has no nodes, so nothing runs Pods or collects garbage. For kubectl: export KUBECONFIG=${shellWord(kubeconfig)}`,
  ),
  /** An object of the checkout, or a part of it, such as the conversion of a CRD, is not in the session's own API server. */
  'embedded.left-out': warning<{ kind: string; name: string; why: string; part?: string }>(
    ({ kind, name, why, part }) => `${part ? `The ${part} of ` : ''}${kind} ${name} is left out: ${why}.`,
  ),
  /** With `up --embedded --keep`: where the API server's data is. `isNew`: no earlier session has kept any. */
  'embedded.kept': note<{ directory: string; isNew: boolean }>(({ directory, isNew }) => {
    const what = isNew
      ? 'Its objects are kept for'
      : 'It has the objects of the last session, and keeps them for';
    return `${what} the next \`up --embedded --keep\`, in ${directory}. To remove them: devloop down --embedded`;
  }),
  /** The controller has written a workload for the first time in this session. */
  'embedded.no-pods': note<{ kind: string; namespace?: string | undefined; name: string }>(
    ({ kind, namespace, name }) => {
      const place = namespace ? ` -n ${shellWord(namespace)}` : '';
      const quoted = `${shellWord(kind.toLowerCase())} ${shellWord(name)}${place}`;
      const where = namespace ? `${namespace}/` : '';
      return `${kind} ${where}${name} is stored, but nothing in this API server runs its Pods or sets its status. If the controller waits for that: kubectl edit --subresource=status ${quoted}`;
    },
  ),
  /** `down --embedded` has removed something of this checkout, or would. */
  'embedded.removed': note<{ what: 'data' | 'kubeconfig'; path: string; dryRun: boolean }>(
    ({ what, path, dryRun }) =>
      `${dryRun ? 'Would remove' : 'Removed'} the ${what} of this checkout's API server: ${path}`,
  ),
  /** `down` has ended the session of `up --embedded` in this checkout, or would. */
  'embedded.ended': note<{ session: string; dryRun: boolean }>(({ session, dryRun }) =>
    dryRun
      ? `Would end session ${session}, and with it its own API server.`
      : `Session ${session} has ended, and with it its own API server.`,
  ),
  /** `down --embedded` has found nothing to remove. */
  'embedded.nothing': note<{ checkout: string }>(
    ({ checkout }) => `Nothing is left of \`up --embedded\` in ${checkout}.`,
  ),
};
