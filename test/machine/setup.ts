import { ensureClusterBinaries } from '../cluster/build.ts';
import { prepareImages } from '../cluster/image-store.ts';
import { ensurePrerequisites, SSH_PACKAGES } from '../cluster/prerequisites.ts';
import { BROWSER_PACKAGES } from '../support/browser.ts';
import { delve } from '../support/delve.ts';
import { kopfLibrary } from '../support/kopf.ts';
import { prepareKubebuilder } from '../support/kubebuilder.ts';
import { relayImage } from '../support/relay-image.ts';
import { sampleImage } from '../support/sample-operator.ts';
import { removeAbandoned } from './remove.ts';

/** Runs once before all end-to-end files, on the real machine, because theirs cannot reach the internet. */
export async function setup(): Promise<void> {
  const log = (line: string): void => console.error(line);
  await removeAbandoned();
  await ensurePrerequisites(log, { ...SSH_PACKAGES, ...BROWSER_PACKAGES, strace: 'strace' });
  await ensureClusterBinaries({ log });
  process.env.DEVLOOP_TEST_IMAGES = await prepareImages([await sampleImage(), await relayImage()]);
  await delve(log);
  // Only one file needs them, so without them only that one fails.
  await prepareKubebuilder(log).catch((error: Error) => log(`kubebuilder is missing: ${error.message}`));
  // Only one test needs it, so without PyPI only that one fails.
  await kopfLibrary(log).catch((error: Error) => log(`kopf is missing: ${error.message}`));
}
