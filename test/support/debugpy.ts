import { cached } from '../cluster/cache.ts';
import { ensurePrerequisites } from '../cluster/prerequisites.ts';
import { run } from '../cluster/run.ts';

const VERSION = '1.8.22';

/**
 * The debugger for Python, which is downloaded from PyPI unless an earlier run has done so. Returns a directory for PYTHONPATH. Python
 * itself is Debian's, or the user's.
 */
export async function debugpy(log: (line: string) => void = () => {}): Promise<string> {
  await ensurePrerequisites(log, { python3: 'python3', pip3: 'python3-pip' });
  return await cached('debugpy', VERSION, async (part) => {
    log(`fetching debugpy ${VERSION}`);
    // Version managers replace Python by a script that does more after an installation than is needed here.
    const python = (await run('python3', ['-c', 'import sys; print(sys.executable)'])).trim();
    const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', part, `debugpy==${VERSION}`];
    await run(python, install);
  });
}
