import { setTimeout as pause } from 'node:timers/promises';
import {
  type CertificateFacts,
  type CertificateSource,
  inspect,
  nextStep,
  type Problem,
  unusable,
} from '../certificates/inspect.ts';
import { type KeyPair, keyPairFromSecret } from '../certificates/key-pair.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Work } from '../cluster/work.ts';
import { DevloopError, messageOf } from '../errors.ts';
import {
  certificateCandidates,
  namedSecret,
  type SecretCandidate,
  unmountedCandidates,
} from '../operator/mounts.ts';
import type { Target, TargetService } from '../operator/target.ts';
import { rereadCalls } from '../operator/webhooks.ts';
import type { Emit } from '../report/events.ts';

/** The key pair of a webhook Service, and the Secret that holds it. */
export interface FoundPair {
  pair: KeyPair;
  facts: CertificateFacts;
  secret: SecretCandidate;
}

/** The key pair of each webhook Service, by the name that kube-apiserver verifies; the controller's own comes first. */
export type KeyPairs = Map<string, FoundPair>;

/** Where key pairs are looked for. */
export interface KeyPairSearch {
  api: ClusterApi;
  target: Target;
  /** The Secret that the user named, as `[namespace/]name`. */
  secretName?: string | undefined;
}

/** Finds and checks the key pair of every webhook Service. */
export async function readKeyPairs(search: KeyPairSearch, emit: Emit): Promise<KeyPairs> {
  const pairs: KeyPairs = new Map();
  for (const service of search.target.services) {
    const found = await findKeyPair(search, service, emit);
    const { namespace, name, directories } = found.secret;
    const [directory] = directories;
    const source = directory ? `mounted at ${directory}` : `its certificate is for ${service.serverName}`;
    emit({ type: 'discovered', what: 'secret', value: `${namespace}/${name}`, source });
    pairs.set(service.serverName, found);
  }
  return pairs;
}

/** The directories in which the manager's container sees the key pairs. */
export function mountPointsOf(pairs: KeyPairs): string[] {
  return [...new Set([...pairs.values()].flatMap(({ secret }) => secret.directories))];
}

/** Picks the likeliest Secret whose certificate is for the Service's name, since a name or a mount may mislead. */
export async function findKeyPair(
  search: KeyPairSearch,
  service: TargetService,
  emit: Emit,
): Promise<FoundPair> {
  const candidates = await secretCandidates(search, service);
  const judged = candidates.map((secret) => judge(secret, service));
  const fitting =
    judged.find((one) => 'found' in one && one.errors.length === 0) ??
    judged.find((one) => 'found' in one && one.coversName) ??
    judged[0];
  if (fitting === undefined) throw notFound(search.target, service);
  if ('failure' in fitting) throw fitting.failure;
  const { secret } = fitting.found;
  const refusal = unusable(sourceOf(secret), fitting.errors);
  if (refusal) throw refusal;
  for (const { message } of fitting.warnings)
    emit({ type: 'warning', message: `Secret ${secret.namespace}/${secret.name}: ${message}` });
  return fitting.found;
}

async function secretCandidates(
  { api, target, secretName }: KeyPairSearch,
  service: TargetService,
): Promise<SecretCandidate[]> {
  const namespace = service.service.metadata.namespace ?? target.namespace;
  if (secretName !== undefined) return [await namedSecret(api, namespace, secretName)];
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
  if (!secret.exists) return { failure: missingSecret(secret) };
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

/** PEM. In practice every webhook that calls a Service carries the same bundle; the first one that is not empty counts. */
function caBundleOf(service: TargetService): string {
  const encoded = service.calls.find((call) => call.caBundle !== '')?.caBundle ?? '';
  return Buffer.from(encoded, 'base64').toString('utf8');
}

function missingSecret({ namespace, name, directories: [directory] }: SecretCandidate): DevloopError {
  const mounted = directory ? `, but the manager mounts it at ${directory}` : '';
  return new DevloopError('certificate.not-found', `Secret ${namespace}/${name} does not exist${mounted}.`, {
    hint: `Check whether its certificate was issued: kubectl -n ${namespace} get certificates,secrets`,
  });
}

function notFound({ manager }: Target, { serverName, service }: TargetService): DevloopError {
  const mounts = manager
    ? `${manager.ref.kind} ${manager.ref.name} mounts no Secret`
    : 'no Deployment was found that could mount it';
  const { namespace } = service.metadata;
  return new DevloopError(
    'certificate.not-found',
    `No Secret with a key pair for ${serverName} was found: ${mounts}, and no TLS Secret in namespace ${namespace} is for that name.`,
    {
      hint: `kubectl -n ${namespace} get secrets\nThen name it in devloop.yaml: certificates: {secret: …}`,
    },
  );
}

/** Looks for renewals of all key pairs until the signal aborts, and passes each to `use`. */
export async function followKeyPairs(
  search: KeyPairSearch,
  pairs: KeyPairs,
  use: (serverName: string, renewed: FoundPair) => Promise<void>,
  work: Pick<Work, 'emit' | 'signal'>,
): Promise<void> {
  await Promise.all(
    search.target.services.map(async (service) => {
      const { serverName } = service;
      const find = async (): Promise<FoundPair> => {
        const calls = await rereadCalls(search.api, service);
        return await findKeyPair(search, { ...service, calls }, () => {});
      };
      const first = pairs.get(serverName)!;
      await followKeyPair(first, find, (renewed) => use(serverName, renewed), work);
    }),
  );
}

const LOOK_EVERY_MS = 5_000;

/** As `followKeyPairs`, for one key pair. A Secret that is unusable for a moment causes one warning, and is read again. */
export async function followKeyPair(
  first: FoundPair,
  find: () => Promise<FoundPair>,
  use: (renewed: FoundPair) => Promise<unknown>,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<void> {
  let current = contentOf(first);
  let reported = '';
  while (!signal.aborted) {
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      current = await useRenewed(current, find, use, signal);
      reported = '';
    } catch (error) {
      const message = messageOf(error);
      if (message !== reported)
        emit({ type: 'warning', message: `Could not refresh the certificate, will try again: ${message}` });
      reported = message;
    }
  }
}

/** Looks once, and returns the content of the key pair that is in use afterwards. */
export async function useRenewed(
  current: string,
  find: () => Promise<FoundPair>,
  use: (renewed: FoundPair) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string> {
  const found = await find();
  // An aborted session removes its files: nothing may be written after that.
  if (signal.aborted) return current;
  if (contentOf(found) !== current) await use(found);
  return contentOf(found);
}

function contentOf({ pair }: FoundPair): string {
  return pair.certificate + pair.key;
}
