import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Log } from './prerequisites.ts';
import { describeBuild, showProgress } from './progress.ts';
import { run } from './run.ts';

export interface GoBuild {
  /** The name in the progress line: `Kubernetes`. */
  what: string;
  cwd: string;
  /** Flags that determine what Go's build cache already contains. */
  args?: string[];
  out: string;
  packages: string[];
}

/** An interrupt may reach only this process, and a build takes minutes. */
const ENDED_WITH_THIS = process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'INT'] : [];

/** Builds without cgo, and shows which part is being compiled, and how much is done. */
export async function goBuild(build: GoBuild, log: Log): Promise<void> {
  let describe = (): string => `loading the Go modules of ${build.what}`;
  using _ = showProgress(() => describe(), log);
  const total = await countPackages(build);
  const started = performance.now();
  let compiled = 0;
  describe = () => describeBuild(build.what, { compiled, total }, performance.now() - started);
  await compile(build, () => compiled++);
}

async function compile(
  { what, cwd, args = [], out, packages }: GoBuild,
  onPackage: () => void,
): Promise<void> {
  const [program = '', ...words] = [...ENDED_WITH_THIS, 'go', 'build', '-v', ...args, '-o', out, ...packages];
  const go = spawn(program, words, {
    cwd,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(go, 'close');
  const lines: string[] = [];
  for await (const line of createInterface(go.stderr)) {
    onPackage();
    if (lines.push(line) > 30) lines.shift();
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`go build of ${what} failed with code ${code}:\n${lines.join('\n')}`);
}

/** How many packages are not in Go's build cache yet. Downloads the modules first. */
async function countPackages({ cwd, args = [], packages }: GoBuild): Promise<number> {
  const stale = '{{if and .Stale (ne .Name "main")}}{{.ImportPath}}{{end}}';
  const listed = await run('go', ['list', '-deps', ...args, '-f', stale, ...packages], {
    cwd,
    env: { CGO_ENABLED: '0' },
  });
  return listed.split('\n').filter((line) => line !== '').length;
}
