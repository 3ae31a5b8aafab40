import type { Checkout } from '../../checkout/files.ts';
import { namedVariables, PROGRAM_SOURCE } from '../../checkout/named-variables.ts';
import { manifestObjects } from './manifest-objects.ts';

/**
 * The variables that switch an operator's webhooks on in its Deployment, such as ENABLE_WEBHOOKS=true. Without a cluster there is no
 * Deployment to read, so they come from the manifests of the checkout: only those that its sources name, because manifests can also
 * belong to other operators. If variants of the manifests differ, the value that switches webhooks on counts, because webhooks answered the
 * set.
 */
export async function webhookSwitches(checkout: Checkout): Promise<Record<string, string>> {
  const found = Object.fromEntries((await manifestObjects(checkout.root, MAY_SWITCH)).flatMap(switchesOf));
  if (Object.keys(found).length === 0) return {};
  const paths = checkout.files((name) => PROGRAM_SOURCE.test(name));
  const texts = paths.map((path) => checkout.text(path));
  const read = namedVariables([texts], Object.keys(found));
  return Object.fromEntries(Object.entries(found).filter(([name]) => read.has(name)));
}

const MAY_SWITCH = /\bname:.*WEBHOOK/;

/** Looks everywhere, because patches and the values of charts also contain variables. */
function switchesOf(value: unknown): [name: string, value: string][] {
  if (typeof value !== 'object' || value === null) return [];
  const { name, value: set } = value as { name?: unknown; value?: unknown };
  const own: [string, string][] =
    typeof name === 'string' && ON_NAME.test(name) && ON.test(String(set)) ? [[name, String(set)]] : [];
  return [...own, ...Object.values(value).flatMap(switchesOf)];
}

/** Not a variable that switches webhooks off: DISABLE_WEBHOOKS, NO_WEBHOOKS, WEBHOOKS_DISABLED. */
const ON_NAME = /^(?!.*(DISABLE|SKIP|WITHOUT))(?!(.*_)?NO_)(?=.*WEBHOOK)[A-Z0-9_]+$/;
const ON = /^(true|1|yes|on)$/i;
