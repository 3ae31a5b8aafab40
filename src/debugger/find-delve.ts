import { join } from 'node:path';
import { DevloopError } from '../errors.ts';
import { runTool } from '../machine/tool.ts';

const INSTALL = 'go install github.com/go-delve/delve/cmd/dlv@latest';

/**
 * The delve that debugs what the go tool builds in this directory: from the PATH, or from where `go install` puts it. Throws
 * 'debug.no-delve' if there is none, or if it is older than Go.
 */
export async function findDelve(cwd: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await runTool(['go', 'env', 'GOVERSION', 'GOBIN', 'GOPATH'], { cwd, signal });
  const [goVersion = '', bin = '', path = ''] = stdout.split('\n');
  const installed = bin === '' ? path.split(':')[0]! && join(path.split(':')[0]!, 'bin') : bin;
  for (const program of ['dlv', join(installed, 'dlv')]) {
    const { code, stdout: about } = await runTool([program, 'version'], { cwd, signal });
    if (code !== 0) continue;
    const version = /^Version: *(\S+)/m.exec(about)?.[1] ?? '';
    if (minorOf(version, Number.POSITIVE_INFINITY) < minorOf(goVersion, 0))
      throw tooOld(program, version, goVersion);
    return program;
  }
  throw new DevloopError(
    'debug.no-delve',
    'Breakpoints need delve, the debugger for Go, and there is no dlv on the PATH.',
    {
      hint: INSTALL,
    },
  );
}

/** delve numbers its versions as Go does: delve 1.27 supports Go 1.27. */
function minorOf(version: string, unknown: number): number {
  return Number(/1\.(\d+)/.exec(version)?.[1] ?? unknown);
}

function tooOld(program: string, version: string, goVersion: string): DevloopError {
  const message = `The debugger ${program} has the version ${version}, which does not support ${goVersion}.`;
  return new DevloopError('debug.no-delve', message, { hint: INSTALL });
}
