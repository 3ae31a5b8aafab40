/** Finds out which callers of a Service trust a certificate, because `up` verifies the route only with the first caller's caBundle. */
import { inspect, subjectsOf } from '../certificates/inspect.ts';
import type { KeyPair } from '../certificates/key-pair.ts';
import type { ObjectRef } from '../cluster/api/kinds.ts';
import { DevloopError, messageOf } from '../errors.ts';
import type { SecretCandidate } from '../operator/mounts.ts';
import type { TargetService } from '../operator/target.ts';
import type { WebhookCall } from '../operator/webhooks.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import { describe, type ObjectName } from '../report/object-name.ts';

type Named = Pick<SecretCandidate, 'namespace' | 'name'>;

/** The callers whose caBundle does not trust the certificate, and why; empty if no caller has a caBundle. */
export function distrust(
  { calls }: TargetService,
  pair: KeyPair,
  now: Date,
): { caller: ObjectRef; why: string }[] {
  if (calls.every(({ caBundle }) => caBundle === '')) return [];
  return bundlesOf(calls).flatMap(({ from, caBundle: encoded }) => {
    const caBundle = decoded(encoded);
    const { problems } = inspect(pair, { serverNames: [], caBundle, now });
    const wrong = problems.filter(({ severity }) => severity === 'error' || encoded === '');
    return wrong.map(({ message }) => ({ caller: from, why: message }));
  });
}

/**
 * The caBundle as PEM, and the caller that carries it. In practice, every webhook that calls a Service carries the same bundle, so the
 * first one that is not empty is used.
 */
export function firstBundle({ calls }: TargetService): { caBundle: string; caller?: string } {
  const call = calls.find(({ caBundle }) => caBundle !== '');
  return call === undefined
    ? { caBundle: '' }
    : { caBundle: decoded(call.caBundle), caller: describe(call.from) };
}

/** A warning for each caller that does not trust the certificate, which comes from `secret`. */
export function distrustWarnings(
  service: TargetService,
  { pair, secret }: { pair: KeyPair; secret: Named },
  now: Date,
): Told<'warning'>[] {
  return distrust(service, pair, now).map(({ caller, why }) =>
    notice('certificate.distrusted', { caller, secret: nameOf(secret), cause: why }),
  );
}

/** The warning about a Secret whose new key pair cannot replace the one in use. */
export function notRefreshed(error: unknown, secret: Named): Told<'warning'> {
  const isUnusable = error instanceof DevloopError && error.code === 'certificate.unusable';
  const next = isUnusable && error.hint !== undefined ? { next: error.hint } : {};
  return notice('certificate.not-refreshed', { secret: nameOf(secret), cause: messageOf(error), ...next });
}

function nameOf({ namespace, name }: Named): ObjectName {
  return { kind: 'Secret', namespace, name };
}

/** The CAs that kube-apiserver trusts for the Service, one line for each caller; empty if there is none. */
export function trustedCas({ calls }: TargetService): string {
  return bundlesOf(calls)
    .flatMap(({ from, caBundle }) => {
      const subjects = subjectsOf(decoded(caBundle));
      return subjects === ''
        ? []
        : `\nThe caBundle of ${describe(from)} contains ${subjects}, whose key devloop did not find in a Secret.`;
    })
    .join('');
}

function bundlesOf(calls: WebhookCall[]): Pick<WebhookCall, 'from' | 'caBundle'>[] {
  const all = calls.map(
    ({ from, caBundle }) => [`${describe(from)} ${caBundle}`, { from, caBundle }] as const,
  );
  return [...new Map(all).values()];
}

function decoded(caBundle: string): string {
  return Buffer.from(caBundle, 'base64').toString('utf8');
}
