import { dirname, relative, resolve } from 'node:path';
import { Checkout } from '../../checkout/files.ts';
import { KUSTOMIZATIONS, kustomizationOf } from './kustomization.ts';

/** These are parts of kubebuilder's overlay, or no operator. */
const NO_OVERLAY = /^config\/|(?:^|\/)(?:samples?|examples?|crds?|rbac)(?:\/|$)/;
/** Overlays that a developer uses, the best first. */
const PREFERRED = ['default', 'dev', 'development', 'local', 'kind'];
/** Without one of these, an overlay is a part of the operator, or something beside it. */
const OPERATOR =
  /^kind:[ \t]*["']?(?:Deployment|StatefulSet|DaemonSet|(?:Validating|Mutating)WebhookConfiguration)\b/m;

/** The overlay of a checkout that has none at the usual place: one that no other lists, with a workload or a webhook in it. */
export async function otherOverlay(root: string): Promise<string | undefined> {
  const checkout = new Checkout(root);
  const found = checkout.files((name) => KUSTOMIZATIONS.includes(name)).map((file) => dirname(file));
  if (found.length === 0) return undefined;
  const { parseDocument } = await import('yaml');
  const lists = new Map<string, string[]>();
  for (const directory of found) {
    const document = parseDocument(checkout.text(kustomizationOf(directory)!));
    const read: unknown = document.errors.length > 0 ? undefined : document.toJS();
    const paths = listedIn(read).map((one) => resolve(directory, one));
    lists.set(directory, paths);
  }
  const listed = new Set([...lists.values()].flat());
  const isOperator = (path: string, above: string[] = []): boolean =>
    !above.includes(path) &&
    (lists.get(path)?.some((one) => isOperator(one, [...above, path])) ?? OPERATOR.test(checkout.text(path)));
  const overlays = found.filter(
    (one) => !listed.has(one) && !NO_OVERLAY.test(relative(root, one)) && isOperator(one),
  );
  const rank = (one: string): number => {
    const at = PREFERRED.findIndex((name) => one.endsWith(`/${name}`));
    return at < 0 ? PREFERRED.length : at;
  };
  const [best] = overlays.sort((a, b) => rank(a) - rank(b) || a.length - b.length || (a < b ? -1 : 1));
  return best && (relative(root, best) || '.');
}

function listedIn(read: unknown): string[] {
  const { resources, bases, components } = (read ?? {}) as Record<string, unknown>;
  const all = [resources, bases, components].flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : []));
  return all.filter((one) => typeof one === 'string');
}
