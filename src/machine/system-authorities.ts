import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { getCACertificates } from 'node:tls';

type Env = Record<string, string | undefined>;

/** Where Go looks on Linux. */
const FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const DIRECTORIES = ['/etc/ssl/certs', '/etc/pki/tls/certs'];

/** The authorities that the system trusts, as PEM, found as kubectl finds them. Node's own list is not used. */
export function systemAuthorities(env: Env): string[] {
  if (process.platform !== 'linux') return getCACertificates('system');
  const files = env.SSL_CERT_FILE ? [env.SSL_CERT_FILE] : FILES;
  const directories = env.SSL_CERT_DIR ? env.SSL_CERT_DIR.split(delimiter) : DIRECTORIES;
  const first = files.map(readIfThere).find((text) => text !== undefined);
  const others = directories.flatMap((directory) =>
    namesIn(directory).map((name) => readIfThere(join(directory, name))),
  );
  const all = [first, ...others].filter((text) => text !== undefined).flatMap(certificatesIn);
  return [...new Set(all)];
}

/** The PEM blocks of certificates in a text. */
export function certificatesIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
