import { runTool } from '../../machine/tool.ts';
import type { Preflight } from '../language.ts';
import { LACKS_MODULE, OFFLINE } from './libraries.ts';
import type { FoundMain } from './main-package.ts';
import { goAdvice } from './toolchain.ts';

/** Loads everything that the package is built from, without using the network or changing go.mod and go.sum. */
export async function preflight(
  main: Pick<FoundMain, 'package' | 'directory' | 'flags'>,
  signal: AbortSignal,
): Promise<Preflight> {
  const flags = main.flags.map(({ flag }) => flag);
  const list = ['go', 'list', '-buildvcs=false', '-deps', '-f', '', ...flags, main.package];
  const env = { ...process.env, ...OFFLINE };
  const { code, stderr } = await runTool(list, { cwd: main.directory, env, signal });
  if (code === 0) return { is: 'ready' };
  const hint = goAdvice(stderr);
  if (hint === undefined && LACKS_MODULE.test(stderr)) return { is: 'downloads' };
  return { is: 'broken', problem: stderr.trim(), hint };
}
