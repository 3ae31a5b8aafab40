import {
  type CertificateFacts,
  type CertificateSource,
  inspect,
  nextStep,
  type Problem,
  unusable,
} from '../certificates/inspect.ts';
import { issuePair } from '../certificates/issue.ts';
import { casFromSecret, type KeyPair, keyPairFromSecret } from '../certificates/key-pair.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { AGAIN, DevloopError, messageOf } from '../errors.ts';
import {
  certificateCandidates,
  namedSecret,
  type SecretCandidate,
  unmountedCandidates,
} from '../operator/mounts.ts';
import type { Target, TargetManager, TargetService } from '../operator/target.ts';
import { filledCertificateDirectories } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { missingSecret, noKeyPair } from './missing-pair.ts';
import { distrustWarnings, firstBundle } from './trust.ts';

/** The key pair of a webhook Service, and the Secret that holds it. */
export interface FoundPair {
  pair: KeyPair;
  facts: CertificateFacts;
  secret: SecretCandidate;
  /** The CA in the Secret, if devloop issued the pair with it. */
  issuer?: KeyPair;
}

/** The key pair of each webhook Service, by the name that kube-apiserver verifies. The controller gets the first one. */
export type KeyPairs = Map<string, FoundPair>;

/** Where key pairs are looked for. */
export interface KeyPairSearch {
  api: ClusterApi;
  target: Target;
  /** The Secret that the user named, as `[namespace/]name`. */
  secretName?: string | undefined;
  /** Returns the Services with all their current calls; if absent, those of the target are used. */
  called?: () => TargetService[];
}

/** Finds and checks the key pair of every webhook Service. */
export async function readKeyPairs(search: KeyPairSearch, emit: Emit): Promise<KeyPairs> {
  const pairs: KeyPairs = new Map();
  for (const service of search.target.services) {
    const found = await findKeyPair(search, service, emit);
    const { namespace, name } = found.secret;
    const source = sourceText(found, service);
    emit({ type: 'discovered', what: 'secret', value: `${namespace}/${name}`, source });
    for (const warning of distrustWarnings(service, found, new Date())) emit(warning);
    pairs.set(service.serverName, found);
  }
  return pairs;
}

function sourceText({ secret, issuer }: FoundPair, { serverName }: TargetService): string {
  if (issuer !== undefined) return `its CA is in the caBundle and issues a certificate for ${serverName}`;
  const [directory] = secret.directories;
  return directory === undefined ? `its certificate is for ${serverName}` : `mounted at ${directory}`;
}

/**
 * The directories in which the manager's container sees the key pairs. If no Secret is mounted, an init container may write the key pairs
 * to these directories.
 */
export function mountPointsOf(pairs: KeyPairs, manager?: TargetManager): string[] {
  const mounted = [...new Set([...pairs.values()].flatMap(({ secret }) => secret.directories))];
  if (mounted.length > 0 || pairs.size === 0 || manager === undefined) return mounted;
  return filledCertificateDirectories(manager);
}

/** Picks the likeliest Secret whose certificate is for the Service's name, since the name or the mount of a Secret may mislead. */
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
    (await issued(search, service, candidates)) ??
    judged[0];
  if (fitting === undefined) throw noKeyPair(search.target, service);
  if ('failure' in fitting) throw fitting.failure;
  const { secret } = fitting.found;
  const refusal = unusable(sourceOf(secret), fitting.errors);
  if (refusal) throw service.calls.length > 0 ? refusal : ofUncalled(service, refusal);
  const { namespace, name } = secret;
  for (const { message } of fitting.warnings)
    emit(notice('certificate.doubtful', { secret: { kind: 'Secret', namespace, name }, cause: message }));
  return fitting.found;
}

/** A Service that no webhook calls may be the wrong one, so no step is suggested that changes the Secret of the right one. */
function ofUncalled({ service: { metadata } }: TargetService, { code, message }: DevloopError): DevloopError {
  const name = `${metadata.namespace}/${metadata.name}`;
  const hint = `No webhook configuration calls Service ${name}. If you meant another one: ${AGAIN} --service NAMESPACE/NAME`;
  return new DevloopError(code, message, { hint });
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

const ISSUED_MS = 365 * 24 * 60 * 60 * 1000;

/**
 * Some managers keep only a CA in a Secret, and issue their serving certificate in memory. devloop does the same, with a CA that is in the
 * caBundle.
 */
async function issued(
  { api, target, secretName }: KeyPairSearch,
  service: TargetService,
  candidates: SecretCandidate[],
): Promise<Judged | undefined> {
  if (firstBundle(service).caBundle === '') return undefined;
  const namespace = service.service.metadata.namespace ?? target.namespace;
  const others = secretName === undefined ? await unmountedCandidates(api, namespace) : [];
  const issuers = [...candidates, ...others].flatMap((secret) =>
    casFromSecret(secret.files).map((issuer) => ({ secret, issuer })),
  );
  for (const { secret, issuer } of issuers) {
    const pair = await issueFor(service, issuer);
    if (pair === undefined) continue;
    // The Secret's files are not a key pair, so they are treated like the files of any other mounted Secret.
    const bare = { ...secret, files: {}, directories: [] };
    const judged = judgePair({ pair, secret: bare, issuer }, service);
    if (judged.errors.length === 0) return judged;
  }
  return undefined;
}

/** Issues a certificate for the Service; undefined if the CA cannot sign here, for example because its key has an unsupported type. */
async function issueFor({ serverName }: TargetService, issuer: KeyPair): Promise<KeyPair | undefined> {
  const notAfter = new Date(Date.now() + ISSUED_MS);
  return await issuePair({ serverNames: [serverName], notAfter, issuer }).catch(() => undefined);
}

function sourceOf({ namespace, name, certificate }: SecretCandidate): CertificateSource {
  return { namespace, secret: name, certificate };
}

interface Judged {
  found: FoundPair;
  errors: Problem[];
  warnings: Problem[];
  coversName: boolean;
}

type Verdict = Judged | { failure: DevloopError };

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
  return judgePair({ pair, secret }, service);
}

function judgePair(unchecked: Omit<FoundPair, 'facts'>, service: TargetService): Judged {
  const { pair } = unchecked;
  const { facts, problems } = inspect(pair, {
    serverNames: [service.serverName],
    ...firstBundle(service),
    now: new Date(),
  });
  const names = inspect(pair, { serverNames: [service.serverName], now: new Date() }).facts.names;
  return {
    found: { ...unchecked, facts },
    errors: problems.filter((one) => one.severity === 'error'),
    warnings: problems.filter((one) => one.severity === 'warning'),
    coversName: names.includes(service.serverName),
  };
}
