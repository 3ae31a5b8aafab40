import { ensurePrerequisites, SSH_PACKAGES } from '../cluster/prerequisites.ts';

/** What only `npm run soak` needs, once before all files: their machines have no way to the internet. */
export async function setup(): Promise<void> {
  await ensurePrerequisites((line) => console.error(line), { ...SSH_PACKAGES, strace: 'strace' });
}
