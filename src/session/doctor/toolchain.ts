import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { runTool } from '../../machine/tool.ts';
import { type Check, type Finding, NotChecked } from './check.ts';
import { goFinding, type LocalGo, readGoMod } from './go-version.ts';

type Env = Record<string, string | undefined>;

/** Can the Go of this machine build the checkout? `ownCommand`: the user runs the controller in a way of their own. */
export async function judgeToolchain(
  root: string,
  env: Env,
  ownCommand: boolean,
  signal: AbortSignal,
): Promise<Finding> {
  if (ownCommand) throw new NotChecked('devloop.yaml names the command of the controller');
  const mod = await readFile(join(root, 'go.mod'), 'utf8').catch(() => undefined);
  if (mod === undefined) throw new NotChecked(`there is no go.mod in ${root}`);
  return goFinding(await localGo(env, signal), readGoMod(mod));
}

export function toolchainCheck(finding: Promise<Finding>): Check {
  return { name: 'toolchain', limitSeconds: 30, late: 'controller.no-toolchain', run: () => finding };
}

/** Asked outside of the module, and told to stay local: nothing is fetched by asking. */
async function localGo(env: Env, signal: AbortSignal): Promise<LocalGo> {
  const words = ['go', 'env', '-json', 'GOVERSION', 'GOMODCACHE', 'GOOS', 'GOARCH'];
  const local = await runTool(words, { cwd: tmpdir(), env: { ...env, GOTOOLCHAIN: 'local' }, signal });
  if (local.missing) {
    throw new DevloopError('controller.no-toolchain', 'There is no go on the PATH.', {
      hint: 'Install Go from https://go.dev/dl, or run a built operator: devloop up -- <command>',
    });
  }
  const { GOVERSION = '', GOMODCACHE = '', GOOS, GOARCH } = JSON.parse(local.stdout || '{}');
  const fetched = await readdir(join(GOMODCACHE, 'golang.org')).catch(() => []);
  return {
    version: GOVERSION,
    toolchain: env.GOTOOLCHAIN || (await configuredToolchain(env, signal)),
    fetched: fetched.flatMap((name) => {
      const [, version, system] = /^toolchain@v[\d.]+-(go.+)\.([a-z0-9]+-[a-z0-9]+)$/.exec(name) ?? [];
      return version !== undefined && system === `${GOOS}-${GOARCH}` ? [version] : [];
    }),
  };
}

async function configuredToolchain(env: Env, signal: AbortSignal): Promise<string> {
  const { stdout } = await runTool(['go', 'env', 'GOTOOLCHAIN'], { cwd: tmpdir(), env, signal });
  return stdout.trim() || 'auto';
}
