import { runTool, type ToolOptions, type ToolResult } from './tool.ts';

/** Runs a program that may wait for a network. One that has not ended after `limitMs` is ended, and the result is undefined. */
export async function runWithin(
  limitMs: number,
  command: string[],
  options: ToolOptions & { signal: AbortSignal },
): Promise<ToolResult | undefined> {
  const limit = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([options.signal, limit]);
  try {
    return await runTool(command, { ...options, signal });
  } catch (error) {
    options.signal.throwIfAborted();
    if (limit.aborted) return undefined;
    throw error;
  }
}
