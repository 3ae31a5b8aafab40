import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';

export const NAME = 'webhook.test.svc';

interface Recipe {
  /** The arguments of openssl genpkey. */
  key?: string[];
  subject?: string;
  names?: string[];
  ca?: boolean;
  usage?: string;
  digest?: string;
  issuer?: KeyPair;
  /** `YYYYMMDDHHMMSSZ`; only with an issuer. */
  from?: string;
  to?: string;
}

export const RSA = ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'];
export const EC = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];
export const ED25519 = ['-algorithm', 'ED25519'];

/** A certificate like those of real clusters' tools: signed by the given issuer, or else by itself. */
export function issue(recipe: Recipe = {}): KeyPair {
  const { subject = '/CN=test', issuer, from = '20200101000000Z', to = '20990101000000Z' } = recipe;
  return inFolder((folder) => {
    const path = (name: string) => join(folder, name);
    openssl('genpkey', ...(recipe.key ?? EC), '-out', path('key'));
    openssl('req', '-new', '-key', path('key'), '-subj', subject, '-out', path('request'));
    writeFileSync(path('extensions'), extensionsOf(recipe));
    // Only `openssl ca` lets the caller choose the dates.
    writeFileSync(
      path('config'),
      `[ca]\ndefault_ca=d\n[d]\ndatabase=${path('index')}\nrand_serial=yes\nnew_certs_dir=${folder}\ndefault_md=${recipe.digest ?? 'sha256'}\npolicy=p\n[p]\ncommonName=optional\n`,
    );
    writeFileSync(path('index'), '');
    const signer =
      issuer === undefined ? ['-selfsign', '-keyfile', path('key')] : signerArguments(folder, issuer);
    openssl(
      ...[
        'ca',
        '-batch',
        '-notext',
        '-config',
        path('config'),
        '-in',
        path('request'),
        '-out',
        path('certificate'),
      ],
      ...['-extfile', path('extensions'), '-startdate', from, '-enddate', to, ...signer],
    );
    return { certificate: readFileSync(path('certificate'), 'utf8'), key: readFileSync(path('key'), 'utf8') };
  });
}

/** The same key in another of openssl's forms. */
export function convertKey(key: string, ...args: string[]): string {
  return inFolder((folder) => {
    writeFileSync(join(folder, 'in'), key);
    openssl(...args, '-in', join(folder, 'in'), '-out', join(folder, 'out'));
    return readFileSync(join(folder, 'out'), 'utf8');
  });
}

/** `strict`: also checks what RFC 5280 requires and Go does not, such as the identifier of the issuer's key. */
export function verify(
  certificate: string,
  caBundle: string,
  name: string,
  { strict = true }: { strict?: boolean } = {},
): string {
  return inFolder((folder) => {
    writeFileSync(join(folder, 'leaf'), certificate);
    writeFileSync(join(folder, 'roots'), caBundle);
    const args = ['-CAfile', join(folder, 'roots'), '-purpose', 'sslserver', '-verify_hostname', name];
    return openssl('verify', ...(strict ? ['-x509_strict'] : []), ...args, join(folder, 'leaf'));
  });
}

function signerArguments(folder: string, issuer: KeyPair): string[] {
  writeFileSync(join(folder, 'issuer'), issuer.certificate);
  writeFileSync(join(folder, 'issuer-key'), issuer.key);
  return ['-cert', join(folder, 'issuer'), '-keyfile', join(folder, 'issuer-key')];
}

function extensionsOf({ names = [NAME], ca = false, usage }: Recipe): string {
  return [
    `basicConstraints=critical,CA:${ca ? 'TRUE' : 'FALSE'}`,
    ...(ca ? ['keyUsage=keyCertSign,digitalSignature'] : []),
    ...(usage === undefined ? [] : [`extendedKeyUsage=${usage}`]),
    ...(names.length === 0 || ca
      ? []
      : [
          `subjectAltName=${names.map((name) => (/^\d/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',')}`,
        ]),
  ].join('\n');
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'devloop-openssl-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' });
}
