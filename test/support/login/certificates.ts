import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Pair {
  certificate: string;
  key: string;
}

export const SERVER_NAMES =
  'DNS:localhost,DNS:api.devloop.test,DNS:xn--bcher-kva.devloop.test,IP:127.0.0.1,IP:::1,IP:10.77.0.1';

interface Wanted {
  by?: string;
  /** Lines of the extension section. */
  extensions?: string[];
  algorithm?: string[];
  /** From when to when it is valid. */
  valid?: [from: string, to: string];
  digest?: string;
}

const CA = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign'];
const names = (list = SERVER_NAMES): string => `subjectAltName=${list}`;
const SERVER = [names(), 'extendedKeyUsage=serverAuth'];
const EXPIRED = { valid: ['200101000000Z', '210101000000Z'] as [string, string] };

/** Each is signed by `by`, or by itself. */
const WANTED: Record<string, Wanted> = {
  ca: { extensions: CA },
  'other-ca': { extensions: CA },
  'expired-ca': { extensions: CA, ...EXPIRED },
  intermediate: { by: 'ca', extensions: CA },
  server: { by: 'ca', extensions: SERVER },
  'server-of-intermediate': { by: 'intermediate', extensions: SERVER },
  'server-of-expired-ca': { by: 'expired-ca', extensions: SERVER },
  'server-of-other-ca': { by: 'other-ca', extensions: SERVER },
  'self-signed': { extensions: SERVER },
  'self-signed-ca': { extensions: ['basicConstraints=critical,CA:TRUE', names()] },
  'only-signs': { extensions: [...CA, names()] },
  'other-name': { by: 'ca', extensions: [names('DNS:other.devloop.test')] },
  wildcard: { by: 'ca', extensions: [names('DNS:*.devloop.test')] },
  'only-common-name': { by: 'ca' },
  expired: { by: 'ca', extensions: SERVER, ...EXPIRED },
  'not-yet-valid': {
    by: 'ca',
    extensions: SERVER,
    valid: ['400101000000Z', '410101000000Z'],
  },
  'for-clients': { by: 'ca', extensions: [names(), 'extendedKeyUsage=clientAuth'] },
  'rsa-2048': { by: 'ca', extensions: SERVER, algorithm: ['rsa:2048'] },
  'rsa-1024': { by: 'ca', extensions: SERVER, algorithm: ['rsa:1024'] },
  'by-sha1': { by: 'ca', extensions: SERVER, digest: 'sha1' },
  client: { by: 'ca', extensions: ['extendedKeyUsage=clientAuth'] },
  'client-2': { by: 'ca', extensions: ['extendedKeyUsage=clientAuth'] },
  'client-expired': { by: 'ca', extensions: ['extendedKeyUsage=clientAuth'], ...EXPIRED },
  'client-rsa': { by: 'ca', extensions: ['extendedKeyUsage=clientAuth'], algorithm: ['rsa:2048'] },
};

export type Certificates = Record<string, Pair>;

/** Real certificates of every kind that a cluster may have, made by openssl. */
export async function makeCertificates(directory: string): Promise<Certificates> {
  await mkdir(directory, { recursive: true });
  const made: Certificates = {};
  for (const [name, wanted] of Object.entries(WANTED)) made[name] = await make(directory, name, wanted);
  const rsa = join(directory, 'client-rsa.key');
  const pkcs1 = (await run('openssl', ['rsa', '-in', rsa, '-traditional'])).stdout;
  made['client-pkcs1'] = { certificate: made['client-rsa']!.certificate, key: pkcs1 };
  const encrypted = ['pkey', '-in', join(directory, 'client.key'), '-aes128', '-passout', 'pass:x'];
  made['client-encrypted'] = {
    certificate: made.client!.certificate,
    key: (await run('openssl', encrypted)).stdout,
  };
  const sec1 = (await run('openssl', ['ec', '-in', join(directory, 'client.key')])).stdout;
  made['client-sec1'] = { certificate: made.client!.certificate, key: sec1 };
  return made;
}

/** `openssl ca` needs these, and can choose the time. */
const SETTINGS = `[ca]
default_ca = all
[all]
policy = any
database = ./index
rand_serial = yes
email_in_dn = no
unique_subject = no
[any]
commonName = supplied
`;

async function make(directory: string, name: string, wanted: Wanted): Promise<Pair> {
  const { by = name, extensions = [], algorithm = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] } = wanted;
  const openssl = (...args: string[]) => run('openssl', args, { cwd: directory });
  await writeFile(join(directory, 'settings'), SETTINGS);
  await writeFile(join(directory, 'index'), '');
  await writeFile(join(directory, 'extensions'), `[e]\n${extensions.join('\n')}\n`);
  const request = ['req', '-new', '-newkey', ...algorithm, '-nodes', '-keyout', `${name}.key`];
  await openssl(...request, '-out', 'request', '-subj', `/CN=${name}`);
  const signer = by === name ? ['-selfsign'] : ['-cert', `${by}.crt`];
  const [from, to] = wanted.valid ?? ['200101000000Z', '400101000000Z'];
  await openssl(
    ...['ca', '-config', 'settings', '-batch', '-notext', '-outdir', '.', '-in', 'request'],
    ...['-keyfile', `${by}.key`, ...signer, '-out', `${name}.crt`, '-md', wanted.digest ?? 'sha256'],
    ...['-startdate', from, '-enddate', to, '-extfile', 'extensions', '-extensions', 'e'],
  );
  const read = (file: string): Promise<string> => readFile(join(directory, file), 'utf8');
  return { certificate: await read(`${name}.crt`), key: await read(`${name}.key`) };
}
