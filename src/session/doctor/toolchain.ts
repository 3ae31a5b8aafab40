import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findMainPackage } from '../../controller/go/main-package.ts';
import { type Preflight, preflight } from '../../controller/go/preflight.ts';
import { DevloopError } from '../../errors.ts';
import { buildWithoutRun, mainPackageHints, namedPackage } from '../../local/program.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { runTool } from '../../machine/tool.ts';
import { isCheckout } from '../context/checkout.ts';
import { type Check, type Finding, NotChecked, NothingToCheck, neededOfCluster } from './check.ts';
import { goFinding, type LocalGo, readGoMod } from './go-version.ts';

type Env = Record<string, string | undefined>;

interface ToolchainQuestion {
  root: string;
  env: Env;
  signal: AbortSignal;
  /** Whether the controller's command comes from devloop.yaml. */
  hasOwnCommand: boolean;
}

export async function judgeToolchain({
  root,
  env,
  signal,
  hasOwnCommand,
}: ToolchainQuestion): Promise<Finding> {
  if (hasOwnCommand) throw new NotChecked("devloop.yaml sets the controller's command");
  if (!isCheckout(root)) throw new NothingToCheck(`${root} is not a checkout`);
  // Both files name the Go version in the same way.
  const mod = (await readTextFile(join(root, 'go.mod'))) || (await readTextFile(join(root, 'go.work')));
  if (mod === '') throw new NotChecked(`there is no go.mod and no go.work in ${root}`);
  return goFinding(await localGo(env, signal), readGoMod(mod));
}

/** Can this machine's Go build the checkout? */
export const toolchainCheck: Check = {
  name: 'toolchain',
  limitSeconds: 30,
  timeoutCode: 'controller.no-toolchain',
  run: ({ toolchain }) => toolchain,
};

/** What would be built and run here? */
export const programCheck: Check = {
  name: 'program',
  limitSeconds: 60,
  timeoutCode: 'controller.no-main',
  async run(run, signal) {
    const { root, config } = await neededOfCluster(run.context);
    const settings = config.controller ?? {};
    const named = namedPackage({ goPackage: run.options.package, settings });
    if (settings.run !== undefined && named === undefined)
      return {
        verdict: 'ok',
        answer: `runs ${settings.run.join(' ')}`,
        proof: ['devloop.yaml: controller.run'],
      };
    if (settings.build !== undefined && named === undefined) throw buildWithoutRun();
    // If the module is too new for this Go, the go tool would download another toolchain.
    const toolchain = await run.toolchain.catch(() => undefined);
    if (toolchain?.verdict === 'fail' || toolchain?.verdict === 'warn')
      throw new NotChecked("this machine's Go is too old for the checkout");
    const target = (await run.operator.catch(unlessMissing))?.target;
    const main = await findMainPackage(root, {
      ...mainPackageHints(target, signal),
      named,
    });
    const proof = [main.source, ...main.flags.map(({ flag, source }) => `${flag} (${source})`)];
    return programFinding(main.name, proof, await preflight(main, signal));
  },
};

/** Throws if there is no checkout. After any other failure of the discovery, the program can still be found. */
function unlessMissing(error: unknown): undefined {
  if (error instanceof DevloopError && error.code === 'target.no-operator')
    throw new NothingToCheck('there is no checkout');
}

function programFinding(goPackage: string, proof: string[], build: Preflight): Finding {
  const answer = `builds main package ${goPackage}`;
  if (build.is === 'ready') return { verdict: 'ok', answer, proof };
  if (build.is === 'downloads')
    return { verdict: 'ok', answer: `${answer}; the first build downloads modules`, proof };
  const { problem, hint = 'Fix the error and run devloop doctor again.' } = build;
  const failed = `main package ${goPackage} does not build:\n${problem}`;
  return { verdict: 'fail', answer: failed, proof, hint, code: 'controller.build-failed' };
}

/** Runs outside the module and with a local toolchain, so that nothing is downloaded. */
async function localGo(env: Env, signal: AbortSignal): Promise<LocalGo> {
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

async function configuredToolchain(env: Env, signal: AbortSignal): Promise<string> {
  const { stdout } = await runTool(['go', 'env', 'GOTOOLCHAIN'], { cwd: tmpdir(), env, signal });
  return stdout.trim() || 'auto';
}
