import { readTextFile } from './text-file.ts';

/** The limits that Linux sets on tracing processes; not known on other systems. */
export interface TracingLimits {
  /** kernel.yama.ptrace_scope, if the kernel has it: 2 allows only CAP_SYS_PTRACE, and 3 nobody. */
  scope?: number;
  /** Whether this process has CAP_SYS_PTRACE. */
  isPrivileged: boolean;
  /** Whether system calls are filtered, as in most containers. */
  isFiltered: boolean;
}

const CAP_SYS_PTRACE = 1n << 19n;

/** Undefined on a system that has no such limits. */
export async function tracingLimits(): Promise<TracingLimits | undefined> {
  const [yama, status] = await Promise.all([
    readTextFile('/proc/sys/kernel/yama/ptrace_scope'),
    readTextFile('/proc/self/status'),
  ]);
  return status === '' ? undefined : tracingLimitsIn(yama, status);
}

export function tracingLimitsIn(yama: string, status: string): TracingLimits {
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return {
    ...(yama === '' ? {} : { scope: Number(yama) }),
    isPrivileged: (capabilities & CAP_SYS_PTRACE) !== 0n,
    isFiltered: /^Seccomp:\s*[12]$/m.test(status),
  };
}
