import { join } from 'node:path';
import { findDelve } from '../../debugger/find-delve.ts';
import { DevloopError } from '../../errors.ts';
import { runTool } from '../../machine/tool.ts';
import { type TracingLimits, tracingLimits } from '../../machine/tracing.ts';
import { type Check, type Finding, NotChecked, needed } from './check.ts';

/** Could `up --debug` stop the controller at breakpoints? Only `--debug` needs this. */
export const debuggerCheck: Check = {
  name: 'debugger',
  limitSeconds: 30,
  optional: true,
  async run({ root, toolchain }, signal) {
    const { verdict } = await needed(toolchain, 'there is no Go here');
    if (verdict !== 'ok') throw new NotChecked('Go cannot build the checkout');
    try {
      return await tracingFinding(await findDelve(root, signal), await tracingLimits(), signal);
    } catch (error) {
      if (!(error instanceof DevloopError) || error.code !== 'debug.no-delve') throw error;
      const { message, hint } = error;
      return { verdict: 'info', answer: message, hint };
    }
  },
};

/**
 * delve starts the program that it traces, so limits for tracing other processes do not matter. If the known limits do not answer the
 * question, delve is tried.
 */
export async function tracingFinding(
  dlv: string,
  limits: TracingLimits | undefined,
  signal: AbortSignal,
): Promise<Finding> {
  const { scope = 0, isPrivileged, isFiltered } = limits ?? { isPrivileged: false, isFiltered: true };
  const setting = `kernel.yama.ptrace_scope is ${scope}`;
  if (scope > 2 || (scope === 2 && !isPrivileged)) {
    const answer = `${dlv} is not allowed to debug programs on this machine: ${setting}`;
    return { verdict: 'info', answer, hint: scope > 2 ? LATER : 'sudo sysctl kernel.yama.ptrace_scope=1' };
  }
  const answer = `up --debug can stop at breakpoints, with ${dlv}`;
  if (isFiltered)
    return (await refusal(dlv, signal)) ?? { verdict: 'ok', answer, proof: ['it debugged a program'] };
  return { verdict: 'ok', answer, proof: [`${setting}, and no system calls are filtered`] };
}

const LATER = 'Set kernel.yama.ptrace_scope=1 in /etc/sysctl.d, and restart the machine.';

/** Debugs the go tool with delve, because that program always exists. Undefined if it works. */
async function refusal(dlv: string, signal: AbortSignal): Promise<Finding | undefined> {
  const { stdout } = await runTool(['go', 'env', 'GOROOT'], { signal });
  const go = join(stdout.trim(), 'bin', 'go');
  const flags = ['--allow-non-terminal-interactive=true', '--check-go-version=false'];
  const tried = await runTool([dlv, 'exec', ...flags, go, '--', 'version'], { signal, input: 'exit\n' });
  if (tried.code === 0) return undefined;
  const said = tried.output.trim().split('\n').at(-1)!;
  if (!/not permitted|permission denied/i.test(said)) throw new NotChecked(`${dlv} printed: ${said}`);
  const answer = `${dlv} is not allowed to debug programs here: ${said}`;
  return { verdict: 'info', answer, hint: CONTAINER };
}

const CONTAINER =
  'Start the container with: docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined …';
