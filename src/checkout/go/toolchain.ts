import { reportWhileWaiting } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { runTool, type ToolResult } from '../../machine/tool.ts';
import type { Emit } from '../../report/events.ts';
import { OFFLINE } from './libraries.ts';

/**
 * The user's GOFLAGS, from the environment or `go env -w`. Throws 'controller.no-toolchain' without a go tool. This is the first call of
 * the go tool, so if go.mod needs a newer toolchain, it is downloaded here.
 */
export async function readGoFlags(
  cwd: string,
  { emit = () => {}, signal }: { emit?: Emit | undefined; signal?: AbortSignal | undefined },
): Promise<string> {
  const ask = (env: NodeJS.ProcessEnv): Promise<ToolResult> =>
    runTool(['go', 'env', 'GOFLAGS'], { cwd, env, signal });
  const offline = await ask({ ...process.env, ...OFFLINE });
  if (offline.code === 0) return offline.stdout.trim();
  if (!offline.missing)
    return (await reportWhileWaiting(ask(process.env), { for: DOWNLOAD }, emit)).stdout.trim();
  throw new DevloopError(
    'controller.no-toolchain',
    'The operator is written in Go, but there is no go on the PATH.',
    { hint: 'Install Go from https://go.dev/dl, or run a built operator: devloop up -- <command>' },
  );
}

const DOWNLOAD = 'go, which downloads the toolchain that go.mod asks for';

const NEEDS_TIDY =
  /missing go\.sum entry|updates to go\.(mod|sum) needed|go mod tidy|no required module provides package/;

/** controller-gen writes these methods of the types. */
const NEEDS_DEEP_COPY = /missing method DeepCopy\w*\)|\.DeepCopy\w* undefined \(/;

const NEWER_GO = /requires go >= ([\w.]*\w)/;

/** Throws 'controller.no-toolchain' if the go tool refused because go.mod requires a newer one: then it cannot build anything. */
export function requireNewEnough(output: string): void {
  const refusal = output.split('\n').find((line) => NEWER_GO.test(line));
  if (refusal === undefined) return;
  const hint = goAdvice(refusal);
  const message = `Go cannot build this checkout: ${refusal.trim()}`;
  throw new DevloopError('controller.no-toolchain', message, hint === undefined ? {} : { hint });
}

/** The command or advice that fixes what the go tool complains about; undefined if none is known. */
export function goAdvice(output: string): string | undefined {
  if (NEEDS_TIDY.test(output)) return 'go mod tidy';
  if (NEEDS_DEEP_COPY.test(output)) return 'make generate';
  const version = NEWER_GO.exec(output)?.[1];
  if (version !== undefined)
    return `Install Go ${version} from https://go.dev/dl, or let go download it: go env -w GOTOOLCHAIN=auto`;
  return /inconsistent vendoring/.test(output) ? 'go mod vendor' : undefined;
}
