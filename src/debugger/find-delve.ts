import { join } from 'node:path';
import { DevloopError } from '../errors.ts';
import { runTool } from '../machine/tool.ts';

/**
 * The delve that debugs what the go tool builds in this directory: from the PATH, or from where `go install` puts it. Throws
 * 'debug.no-delve' if there is none, or if none supports this version of Go.
 */
export async function findDelve(cwd: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await runTool(['go', 'env', 'GOVERSION', 'GOBIN', 'GOPATH'], { cwd, signal });
  const [goVersion = '', bin = '', path = ''] = stdout.split('\n');
  const installed = bin === '' ? path.split(':')[0]! && join(path.split(':')[0]!, 'bin') : bin;
  const unfit: DevloopError[] = [];
  for (const program of ['dlv', join(installed, 'dlv')]) {
    const { code, stdout: about } = await runTool([program, 'version', '-v'], { cwd, signal });
    if (code !== 0) continue;
    const why = whyUnfit(program, about, goVersion);
    if (why === undefined) return program;
    unfit.push(why);
  }
  const message = 'Breakpoints need delve, the debugger for Go, and there is no dlv on the PATH.';
  throw unfit[0] ?? new DevloopError('debug.no-delve', message, { hint: installCommand(goVersion) });
}

/** From this version on, Go writes debug information in the format DWARF 5, which only a delve built with such a Go can read. */
const FIRST_DWARF_5 = 25;

/** `about`: what the delve `program` prints about itself. Undefined if it can debug programs of this Go, or if that is not known. */
function whyUnfit(program: string, about: string, goVersion: string): DevloopError | undefined {
  const version = /^Version: *(\S+)/m.exec(about)?.[1] ?? '';
  const [go, delve] = [minorOf(goVersion), minorOf(version)];
  if (go === undefined) return undefined;
  const hint = installCommand(goVersion);
  const refused = (message: string, hint: string): DevloopError =>
    new DevloopError('debug.no-delve', message, { hint });
  if (delve !== undefined && (delve < go || go < oldestGo(delve)))
    return refused(
      `The debugger ${program} is version ${version}, which does not support ${goVersion}.`,
      hint,
    );
  const builder = /^Build Details: *(go\S+)/m.exec(about)?.[1] ?? '';
  if (go < FIRST_DWARF_5 || (minorOf(builder) ?? go) >= FIRST_DWARF_5) return undefined;
  return refused(
    `The debugger ${program} was built with ${builder}, and cannot read the debug information of ${goVersion}.`,
    `GOTOOLCHAIN=go1.${FIRST_DWARF_5}.0+auto ${hint}`,
  );
}

/**
 * The minor version of the oldest Go that a delve supports. delve numbers its versions as Go does, and supports the two versions before its
 * own; these releases support one more. Source: MinSupportedVersionOfGoMinor in delve's pkg/goversion/compat.go.
 */
function oldestGo(delve: number): number {
  return [22, 24, 25].includes(delve) ? delve - 3 : delve - 2;
}

/** There has been a delve for each Go since this one. */
const FIRST_DELVE = 20;

function installCommand(goVersion: string): string {
  const go = minorOf(goVersion);
  const version = go === undefined ? 'latest' : `v1.${Math.max(go, FIRST_DELVE)}`;
  return `go install github.com/go-delve/delve/cmd/dlv@${version}`;
}

/** 26 of `go1.26.8`, and of `1.26.0`. */
function minorOf(version: string): number | undefined {
  const [, minor] = /^(?:go)?1\.(\d+)/.exec(version) ?? [];
  return minor === undefined ? undefined : Number(minor);
}
