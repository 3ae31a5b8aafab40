import { cached } from '../cluster/cache.ts';
import { ensurePrerequisites } from '../cluster/prerequisites.ts';
import { run } from '../cluster/run.ts';

const VERSION = '1.45.2';

/** kopf and what it needs, which are downloaded from PyPI unless an earlier run has done so. Returns their directory. */
export async function kopfLibrary(log: (line: string) => void = () => {}): Promise<string> {
  await ensurePrerequisites(log, { python3: 'python3', pip3: 'python3-pip' });
  return await cached('kopf', VERSION, async (part) => {
    log(`fetching kopf ${VERSION}`);
    await run(await realPython(), ['-m', 'pip', 'install', '--quiet', '--target', part, `kopf==${VERSION}`]);
  });
}

/** Makes `.venv` with kopf in a repository, as uv, poetry or `python -m venv` and pip would. */
export async function installKopf(repository: string): Promise<void> {
  const library = await kopfLibrary();
  const venv = `${repository}/.venv`;
  await run(await realPython(), ['-m', 'venv', '--without-pip', venv]);
  const script = `
import sys, sysconfig, pathlib
pathlib.Path(sysconfig.get_path("purelib"), "kopf.pth").write_text(${JSON.stringify(library)})
program = pathlib.Path(sys.prefix, "bin", "kopf")
program.write_text(f"#!{sys.executable}\\nfrom kopf.cli import main\\nmain()\\n")
program.chmod(0o755)
`;
  await run(`${venv}/bin/python`, ['-c', script]);
}

/** Version managers replace Python by a script that does more after an installation than is needed here. */
async function realPython(): Promise<string> {
  return (await run('python3', ['-c', 'import sys; print(sys.executable)'])).trim();
}
