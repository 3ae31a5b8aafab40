/** Webhooks that are configured by URL: kube-apiserver dials the URL itself, so no change of a Service leads them to this machine. */
import { describe, type ObjectRef, refOf } from '../cluster/api/kinds.ts';
import { isServed } from './match.ts';
import type { CheckoutFacts } from './sources.ts';
import type { Configuration } from './webhooks.ts';

/** A webhook configuration, and one URL that it makes kube-apiserver call. */
export interface UrlCall {
  from: ObjectRef;
  url: URL;
}

/** The calls that the checkout answers, as far as paths show it; one for each webhook configuration. */
export function urlCallsOfCheckout(configurations: Configuration[], facts: CheckoutFacts): UrlCall[] {
  return configurations.flatMap(({ kind, object }): UrlCall[] => {
    const from = refOf(kind, object.metadata);
    const urls = (object.webhooks ?? []).flatMap(({ clientConfig: { url } }) => URL.parse(url ?? '') ?? []);
    const own = urls.find(({ pathname }) => isServed(pathname, facts));
    return own === undefined ? [] : [{ from, url: own }];
  });
}

/** For display: `MutatingWebhookConfiguration hooks (https://hooks.shop.svc/mutate)` */
export function describeUrlCalls(calls: UrlCall[]): string {
  return calls.map(({ from, url }) => `${describe(from)} (${url.href})`).join(', ');
}
