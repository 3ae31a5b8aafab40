import { join } from 'node:path';
import { build } from 'esbuild';
import { slimKubernetesClient } from '../../../scripts/build-plugin.ts';
import type { Client } from './compare.ts';

/** The first of these that fits says what failed. */
const KUBECTL: [RegExp, string][] = [
  // What kubectl does if nothing else was configured: it asks for a password, or expects a server of plain HTTP.
  [/Please enter Username|localhost:8080 was refused/, 'kubeconfig'],
  [/invalid header field|unsupported protocol scheme|in host name|authProvider|Must provide/, 'kubeconfig'],
  [/getting credentials|exec plugin|must be logged in|id-token|refresh token|ID Token/, 'login'],
  [/x509|tls: failed to verify/, 'untrusted'],
  [/Unable to connect|was refused/, 'unreachable'],
];

const DEVLOOP: [RegExp, string][] = [
  [/^cluster\.unauthorized/m, 'login'],
  [/^cluster\.unreachable.*not trusted/m, 'untrusted'],
  [/^cluster\.unreachable/m, 'unreachable'],
  [/^(kubeconfig|context)\./m, 'kubeconfig'],
  [/^cluster\.rejected/m, 'rejected'],
];

const classBy =
  (classes: [RegExp, string][], other: string) =>
  (printed: string): string =>
    classes.find(([pattern]) => pattern.test(printed))?.[1] ?? other;

export function kubectl(command: string[]): Client {
  return { command: [...command, 'auth', 'whoami'], failure: classBy(KUBECTL, 'kubeconfig') };
}

/** Bundled into the directory, as devloop itself is: Node takes long to load many small files. */
export async function devloop(directory: string): Promise<Client> {
  const outfile = join(directory, 'probe.mjs');
  await build({
    ...{ entryPoints: [join(import.meta.dirname, 'probe.ts')], outfile, bundle: true, platform: 'node' },
    ...{ format: 'esm', target: 'node24', logLevel: 'warning', plugins: [slimKubernetesClient()] },
    banner: { js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);" },
  });
  return { command: [process.execPath, outfile], failure: classBy(DEVLOOP, 'bug') };
}
