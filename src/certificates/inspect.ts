import type { X509Certificate } from 'node:crypto';
import { DevloopError, messageOf } from '../errors.ts';
import { serverTls } from '../machine/server-tls.ts';
import { shellWord } from '../phrases.ts';
import { refusedByGo } from './accepted.ts';
import { findTrust } from './chain.ts';
import { type KeyPair, SERVER_AUTH } from './key-pair.ts';
import { readableCertificates, readCertificates } from './pem.ts';

export interface Problem {
  /** kube-apiserver refuses a certificate with an error, and may refuse a certificate with a warning. */
  severity: 'error' | 'warning';
  message: string;
}

export interface CertificateFacts {
  names: string[];
  notBefore: Date;
  notAfter: Date;
  issuer: string;
}

export interface Expectation {
  /** The names that kube-apiserver verifies: `<service>.<namespace>.svc`. */
  serverNames: string[];
  /** PEM; absent or empty means the system roots of the API server. */
  caBundle?: string;
  /** The object that contains the caBundle, for display. */
  caller?: string;
  now: Date;
}

const SOON_MS = 24 * 60 * 60 * 1000;
const ANY_USAGE = '2.5.29.37.0';

/** Checks a key pair as kube-apiserver will. Expects a pair that was read by keyPairFromSecret. */
export function inspect(
  pair: KeyPair,
  expectation: Expectation,
): { facts: CertificateFacts; problems: Problem[] } {
  const chain = readCertificates(pair.certificate);
  const leaf = chain[0];
  if (leaf === undefined) throw new TypeError('the key pair has no certificate');
  const facts = factsOf(leaf);
  const problems = [
    ...dateProblems(facts, expectation.now),
    ...nameProblems(leaf, facts.names, expectation.serverNames),
    ...usageProblems(leaf),
    ...typeProblems(pair, leaf, expectation),
    ...trustProblems(leaf, chain.slice(1), expectation),
  ];
  return { facts, problems };
}

function factsOf(leaf: X509Certificate): CertificateFacts {
  return {
    names: dnsNames(leaf.subjectAltName ?? ''),
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
    issuer: oneLine(leaf.issuer) || '(no name)',
  };
}

function dnsNames(subjectAltName: string): string[] {
  return [...subjectAltName.matchAll(/(?:^|, )DNS:("?)([^",]*)\1/g)].map((match) => match[2] ?? '');
}

function oneLine(distinguishedName: string | undefined): string {
  return (distinguishedName ?? '').split('\n').filter(Boolean).join(', ');
}

function dateProblems({ notBefore, notAfter }: CertificateFacts, now: Date): Problem[] {
  if (now > notAfter) return [error(`it expired at ${notAfter.toISOString()}`)];
  if (now < notBefore) {
    return [error(`it is not valid before ${notBefore.toISOString()} (is this machine's clock right?)`)];
  }
  if (notAfter.getTime() - now.getTime() < SOON_MS) {
    return [warning(`it expires soon, at ${notAfter.toISOString()}`)];
  }
  return [];
}

function nameProblems(leaf: X509Certificate, names: string[], serverNames: string[]): Problem[] {
  // Like Go, this ignores the common name.
  const missing = serverNames.filter(
    (name) => leaf.checkHost(name, { subject: 'never', partialWildcards: false }) === undefined,
  );
  if (missing.length === 0) return [];
  const present =
    names.length === 0 ? 'no DNS names (a common name does not count)' : `only ${names.join(', ')}`;
  return [error(`it is not for ${missing.join(', ')}; it names ${present}`)];
}

function usageProblems(leaf: X509Certificate): Problem[] {
  // Node calls the extended key usage `keyUsage`.
  const usage: string[] | undefined = leaf.keyUsage;
  if (usage === undefined || usage.includes(SERVER_AUTH) || usage.includes(ANY_USAGE)) return [];
  return [error('it is not a server certificate: its extended key usage lacks "server auth"')];
}

/** What kube-apiserver or the TLS server of devloop refuses because of the type or the size of a key, or because of a signature. */
function typeProblems(pair: KeyPair, leaf: X509Certificate, { caBundle = '' }: Expectation): Problem[] {
  const refused = refusedByGo(leaf, readableCertificates(caBundle)).map(error);
  if (refused.length > 0) return refused;
  try {
    serverTls(pair);
    return [];
  } catch (cause) {
    return [error(`OpenSSL cannot present it: ${messageOf(cause)}`)];
  }
}

function trustProblems(
  leaf: X509Certificate,
  between: X509Certificate[],
  { caBundle = '', caller, now }: Expectation,
): Problem[] {
  if (caBundle === '') {
    return [
      warning(
        'the caBundle is empty, so kube-apiserver trusts only its system roots, which devloop cannot check',
      ),
    ];
  }
  const bundle = readableCertificates(caBundle);
  if (bundle.length === 0) {
    return [
      error('the caBundle contains no readable certificate (perhaps a placeholder that was never filled in)'),
    ];
  }
  const trust = findTrust(leaf, between, bundle, now);
  if (trust === 'found') return [];
  if (trust === 'expired')
    return [error('it chains to the caBundle only through a certificate authority that has expired')];
  const whose = caller === undefined ? 'the caBundle' : `the caBundle of ${caller}`;
  const cause =
    trust === 'other-key'
      ? `${whose} contains a certificate authority with that name but another key, so one of the two is outdated`
      : `${whose} contains ${subjectsOf(caBundle)}`;
  return [
    error(
      `it does not chain to the caBundle: its issuer is ${oneLine(leaf.issuer) || '(no name)'}; ${cause}`,
    ),
  ];
}

/** The names of the certificates in a caBundle; empty if none of them can be read. */
export function subjectsOf(caBundle: string): string {
  return readableCertificates(caBundle)
    .map((one) => oneLine(one.subject) || '(no name)')
    .join('; ');
}

function error(message: string): Problem {
  return { severity: 'error', message };
}

function warning(message: string): Problem {
  return { severity: 'warning', message };
}

export interface CertificateSource {
  namespace: string;
  secret: string;
  /** The cert-manager Certificate to which the Secret belongs, if any. */
  certificate?: string;
}

/** One error that lists every problem that makes the certificate unusable; undefined if there is none. */
export function unusable(source: CertificateSource, problems: Problem[]): DevloopError | undefined {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return undefined;
  const object = `The certificate in Secret ${source.namespace}/${source.secret} is unusable`;
  const message =
    errors.length === 1
      ? `${object}: ${errors[0]?.message}`
      : [`${object}:`, ...errors.map((problem) => `  - ${problem.message}`)].join('\n');
  return new DevloopError('certificate.unusable', message, { hint: nextStep(source) });
}

/** What to do about a Secret whose key pair cannot be used. */
export function nextStep({ namespace, secret, certificate }: CertificateSource): string {
  if (certificate === undefined) {
    return `Find out what created it, and create it again the same way: kubectl -n ${shellWord(namespace)} describe secret ${shellWord(secret)}`;
  }
  return [
    `Look at cert-manager's status: kubectl -n ${shellWord(namespace)} describe certificate ${shellWord(certificate)}`,
    `and have the certificate reissued: kubectl cert-manager renew -n ${shellWord(namespace)} ${shellWord(certificate)}`,
    `(or, without that plug-in: kubectl -n ${shellWord(namespace)} delete secret ${shellWord(secret)})`,
  ].join('\n');
}
