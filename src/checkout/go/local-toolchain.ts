import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { runTool } from '../../machine/tool.ts';
import type { Checkout } from '../files.ts';
import type { ToolchainFinding, ToolchainQuestion } from '../language.ts';
import { goFinding, type LocalGo, readGoMod } from './go-version.ts';

/** Can this machine's Go build the checkout? */
export async function judgeToolchain(
  checkout: Checkout,
  { env, signal }: ToolchainQuestion,
): Promise<ToolchainFinding | undefined> {
  // Both files name the Go version in the same way.
  const read = (name: string): string => checkout.text(join(checkout.root, name));
  const mod = read('go.mod') || read('go.work');
  return mod === '' ? undefined : goFinding(await localGo(env, signal), readGoMod(mod));
}

/** Runs outside the module and with a local toolchain, so that nothing is downloaded. */
async function localGo(env: ToolchainQuestion['env'], signal: AbortSignal): Promise<LocalGo> {
  const words = ['go', 'env', '-json', 'GOVERSION', 'GOMODCACHE', 'GOOS', 'GOARCH'];
  const local = await runTool(words, { cwd: tmpdir(), env: { ...env, GOTOOLCHAIN: 'local' }, signal });
  if (local.missing) {
    throw new DevloopError('controller.no-toolchain', 'Go is not on the PATH.', {
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

async function configuredToolchain(env: ToolchainQuestion['env'], signal: AbortSignal): Promise<string> {
  const { stdout } = await runTool(['go', 'env', 'GOTOOLCHAIN'], { cwd: tmpdir(), env, signal });
  return stdout.trim() || 'auto';
}
