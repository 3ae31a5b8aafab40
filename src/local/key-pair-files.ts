import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { writeKeyPair } from '../certificates/files.ts';
import { type CertificateFacts, inspect, type Problem } from '../certificates/inspect.ts';
import { type KeyPair, keyPairFromSecret } from '../certificates/key-pair.ts';
import { type CertificateSource, nextStep, unusable } from '../certificates/unusable.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { DevloopError, messageOf } from '../errors.ts';
import type { Target, TargetService } from '../operator/discover.ts';
import {
  certificateCandidates,
  namedSecret,
  type SecretCandidate,
  unmountedCandidates,
} from '../operator/mounts.ts';
import type { Emit } from '../report/events.ts';

/** The key pair of a webhook Service, and where it came from. */
export interface FoundPair {
  pair: KeyPair;
  facts: CertificateFacts;
  secret: SecretCandidate;
}

/** Which Secret it is, its certificate decides: the likeliest one whose certificate is for the Service's name. */
export async function findKeyPair(
  api: ClusterApi,
  target: Target,
  service: TargetService,
  named: string | undefined,
  emit: Emit,
): Promise<FoundPair> {
  const candidates = await secretCandidates(api, target, service, named);
  const judged = candidates.map((secret) => judge(secret, service));
  const fitting =
    judged.find((one) => 'found' in one && one.errors.length === 0) ??
    judged.find((one) => 'found' in one && one.coversName) ??
    judged[0];
  if (fitting === undefined) throw notFound(target, service);
  if ('failure' in fitting) throw fitting.failure;
  const { secret } = fitting.found;
  const refusal = unusable(sourceOf(secret), fitting.errors);
  if (refusal) throw refusal;
  for (const { message } of fitting.warnings)
    emit({ type: 'warning', message: `Secret ${secret.namespace}/${secret.name}: ${message}` });
  return fitting.found;
}

async function secretCandidates(
  api: ClusterApi,
  target: Target,
  service: TargetService,
  named: string | undefined,
): Promise<SecretCandidate[]> {
  const namespace = service.service.metadata.namespace ?? target.namespace;
  if (named !== undefined) return [await namedSecret(api, namespace, named)];
  const mounted = await certificateCandidates(api, target);
  if (mounted.some((one) => 'found' in judge(one, service))) return mounted;
  const others = (await unmountedCandidates(api, namespace)).filter((one) => {
    const verdict = judge(one, service);
    return 'found' in verdict && verdict.coversName;
  });
  return [...others, ...mounted];
}

function sourceOf({ namespace, name, certificate }: SecretCandidate): CertificateSource {
  return { namespace, secret: name, ...(certificate === undefined ? {} : { certificate }) };
}

type Verdict =
  | { found: FoundPair; errors: Problem[]; warnings: Problem[]; coversName: boolean }
  | { failure: DevloopError };

function judge(secret: SecretCandidate, service: TargetService): Verdict {
  const object = `Secret ${secret.namespace}/${secret.name}`;
  if (!secret.exists) {
    const failure = new DevloopError(
      'certificate.not-found',
      `${object} does not exist${secret.directory ? `, though the Deployment mounts it at ${secret.directory}` : ''}.`,
      {
        hint: `Whatever makes it has not done so yet: kubectl -n ${secret.namespace} get certificates,secrets`,
      },
    );
    return { failure };
  }
  let pair: KeyPair;
  try {
    pair = keyPairFromSecret(secret.files, object);
  } catch (error) {
    const { code, message, hint } =
      error instanceof DevloopError
        ? error
        : new DevloopError('certificate.invalid', `${object}: ${messageOf(error)}`);
    const next = hint ?? nextStep(sourceOf(secret));
    return { failure: new DevloopError(code, message, { hint: next, cause: error }) };
  }
  const { facts, problems } = inspect(pair, {
    serverNames: [service.serverName],
    caBundle: caBundleOf(service),
    now: new Date(),
  });
  const names = inspect(pair, { serverNames: [service.serverName], now: new Date() }).facts.names;
  return {
    found: { pair, facts, secret },
    errors: problems.filter((one) => one.severity === 'error'),
    warnings: problems.filter((one) => one.severity === 'warning'),
    coversName: names.includes(service.serverName),
  };
}

/** PEM. Every call to one Service carries the same bundle in practice; the first that is not empty counts. */
export function caBundleOf(service: TargetService): string {
  const encoded = service.calls.find((call) => call.caBundle !== '')?.caBundle ?? '';
  return Buffer.from(encoded, 'base64').toString('utf8');
}

function notFound(target: Target, service: TargetService): DevloopError {
  const deployment = target.deployment
    ? `Deployment ${target.deployment.object.metadata.name} mounts no Secret`
    : 'there is no Deployment to see a mounted Secret on';
  return new DevloopError(
    'certificate.not-found',
    `No Secret with a key pair for ${service.serverName} was found: ${deployment}, and no TLS Secret of the namespace is for that name.`,
    {
      hint: `kubectl -n ${service.service.metadata.namespace} get secrets; name one in devloop.yaml: certificates: {secret: …}`,
    },
  );
}

/** Lays the whole Secret out as the kubelet would, with tls.crt and tls.key in any case. False where it lies there already. */
export async function layOut(directory: string, found: FoundPair, emit: Emit): Promise<boolean> {
  const others = Object.entries(found.secret.files).map(
    ([name, content]) => [name, Buffer.from(content, 'base64').toString('utf8')] as const,
  );
  const extra = Object.fromEntries(others.filter(([name]) => name !== 'tls.crt' && name !== 'tls.key'));
  if (!(await writeKeyPair(directory, found.pair, { certificate: 'tls.crt', key: 'tls.key' }, extra)))
    return false;
  const { namespace, name } = found.secret;
  emit({
    type: 'certificate.written',
    directory,
    names: found.facts.names,
    notAfter: found.facts.notAfter.toISOString(),
    source: `Secret ${namespace}/${name}`,
  });
  return true;
}

/** controller-runtime's own default below a temporary directory. */
export function defaultDirectory(temporary: string): string {
  return join(temporary, 'k8s-webhook-server', 'serving-certs');
}

const LOOK_EVERY_MS = 5_000;

/** Follows renewals until the signal aborts. A Secret that is unusable for a moment is told once and read again. */
export async function followKeyPair(
  find: () => Promise<FoundPair>,
  use: (found: FoundPair) => Promise<unknown>,
  first: FoundPair,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  let current = first.pair.certificate + first.pair.key;
  let told = '';
  while (!signal.aborted) {
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      const found = await find();
      // What a session lays out is being removed by now.
      if (signal.aborted) return;
      if (found.pair.certificate + found.pair.key !== current) await use(found);
      current = found.pair.certificate + found.pair.key;
      told = '';
    } catch (error) {
      const message = messageOf(error);
      if (message !== told)
        emit({ type: 'warning', message: `The certificate cannot be refreshed just now: ${message}` });
      told = message;
    }
  }
}
