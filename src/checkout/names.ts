import { basename, join } from 'node:path';
import type { Checkout } from './files.ts';

/** Common names of directories and modules, and of many things in a cluster: they identify nothing. */
const TOO_COMMON = new Set(
  `operator operators controller controllers manager controller-manager webhook webhooks
  app apps main src code project workspace repo checkout work test demo example
  system default platform service server api core backend kubernetes kube k8s git`.split(/\s+/),
);

/** Whether this can be the name of one operator. */
export function isName(name: string): boolean {
  return name.length > 2 && !TOO_COMMON.has(name);
}

/** The names that kubebuilder's PROJECT file and the directory give to the checkout. */
export function namesOfCheckout(checkout: Checkout): string[] {
  const { root } = checkout;
  const project = checkout.text(join(root, 'PROJECT'));
  return [project.match(/^projectName:\s*["']?([\w.-]+)/m)?.[1] ?? '', basename(root)];
}
