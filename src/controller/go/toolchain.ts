import { DevloopError } from '../../errors.ts';
import { runTool } from '../../machine/tool.ts';

/** The user's GOFLAGS, from the environment or `go env -w`. Throws 'controller.no-toolchain' without a go tool. */
export async function readGoFlags(cwd: string, signal: AbortSignal | undefined): Promise<string> {
  const { missing, stdout } = await runTool(['go', 'env', 'GOFLAGS'], { cwd, signal });
  if (!missing) return stdout.trim();
  throw new DevloopError(
    'controller.no-toolchain',
    'The operator is written in Go, but there is no go on the PATH.',
    { hint: 'Install Go from https://go.dev/dl, or run a built operator: devloop up -- <command>' },
  );
}

const NEEDS_TIDY =
  /missing go\.sum entry|updates to go\.(mod|sum) needed|go mod tidy|no required module provides package/;

const NEWER_GO = /requires go >= ([\w.]*\w)/;

/** The command that fixes what the go tool complains about; undefined when it is not known. */
export function goAdvice(output: string): string | undefined {
  if (NEEDS_TIDY.test(output)) return 'go mod tidy';
  const version = NEWER_GO.exec(output)?.[1];
  if (version !== undefined)
    return `Install Go ${version} from https://go.dev/dl, or let go download it: go env -w GOTOOLCHAIN=auto`;
  return /inconsistent vendoring/.test(output) ? 'go mod vendor' : undefined;
}
