import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { DevloopError } from '../errors.ts';
import { followKeyPair } from '../local/follow-key-pairs.ts';
import { defaultDirectory, writeFoundPair } from '../local/key-pair-files.ts';
import { findKeyPair } from '../local/key-pairs.ts';
import { discover } from '../operator/discover.ts';
import { notice } from '../report/notices/catalogue.ts';
import { type CommandContext, checkoutFactsOf, openContext } from './context/context.ts';
import { unlessInterrupted } from './context/interrupt.ts';
import { inNamedNamespaces } from './context/namespaces.ts';
import type { CertsOptions, Io } from './context/options.ts';

/**
 * Writes the webhook's key pair to the directory where a manager that is started by hand looks for it; with --watch, again after each
 * renewal.
 */
export async function certs(options: CertsOptions, io: Io): Promise<void> {
  await using context = await openContext(options, io);
  const { api, settings } = context;
  const facts = checkoutFactsOf(context);
  const discovering = discover({ api, names: context.wanted, facts, emit: io.emit });
  const target = await unlessInterrupted(inNamedNamespaces(context, discovering), io.signal);
  const service = target.services[0];
  if (service === undefined) {
    throw new DevloopError(
      'target.no-webhook',
      'No webhook Service was found, so there is no certificate to fetch.',
      { hint: 'Name the Service: devloop certs --service NAMESPACE/NAME' },
    );
  }
  const find = (): ReturnType<typeof findKeyPair> =>
    findKeyPair({ api, target, secretName: settings['certificates.secret'].value }, service, io.emit);
  const found = await find();
  const directory = outputDirectory(context);
  if (!(await writeFoundPair(directory, found, io.emit))) {
    const until = found.facts.notAfter.toISOString();
    io.emit(notice('certificate.already-written', { directory, until }));
  }
  if (options.watch)
    await followKeyPair(found, find, (renewed) => writeFoundPair(directory, renewed, io.emit), io);
}

/** The directory to write to. A path on the command line begins where the user is, and one in devloop.yaml at the file. */
export function outputDirectory({
  settings,
  cwd,
  root,
}: Pick<CommandContext, 'settings' | 'cwd' | 'root'>): string {
  const { value, from } = settings['certificates.directory'];
  return resolve(from[0] === 'flag' ? cwd : root, value ?? defaultDirectory(tmpdir()));
}
