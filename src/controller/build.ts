import { open } from 'node:fs/promises';
import { runTool } from '../machine/tool.ts';

export type BuildOutcome =
  | {
      ok: true;
      ms: number /** Equal for programs that differ in nothing but what they were built from. */;
      content: string | undefined;
    }
  | { ok: false; ms: number; output: string };

export interface BuildRequest {
  command: string[];
  cwd: string;
  /** Where the program will lie. */
  binary: string;
  signal: AbortSignal;
}

/**
 * How a Go operator is built. Without VCS stamping: it would make every commit a new program, and it fails in a checkout
 * that git does not trust.
 */
export function goBuildCommand(goPackage: string, binary: string, tags = ''): string[] {
  return ['go', 'build', '-buildvcs=false', ...tagsFlag(tags), '-o', binary, goPackage];
}

export function tagsFlag(tags: string | undefined): string[] {
  return tags ? [`-tags=${tags}`] : [];
}

/** Builds once, in the environment of devloop and not of the controller; an abort ends the compiler's whole group and rejects. */
export async function runBuild(request: BuildRequest): Promise<BuildOutcome> {
  const start = performance.now();
  const { command, cwd, signal } = request;
  const result = await runTool(command, { cwd, signal });
  const ms = Math.round(performance.now() - start);
  if (result.missing) return { ok: false, ms, output: `${command[0]}: no such program` };
  if (result.code !== 0) return { ok: false, ms, output: result.output.trimEnd() };
  return { ok: true, ms, content: await contentOf(request.binary) };
}

/** The go tool looks no further for it, either. */
const HEAD = 32 * 1024;
/** Of an ELF note on Linux, of the text's first bytes elsewhere. */
const BUILD_ID = /(?:[\w-]{20}\/){3}([\w-]{20})/;

/**
 * The last part of a Go program's build id: a hash of the program without the build id itself, which changes with every
 * comment. Undefined for other programs.
 */
async function contentOf(binary: string): Promise<string | undefined> {
  const file = await open(binary).catch(() => undefined);
  if (!file) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD), 0, HEAD, 0);
    return BUILD_ID.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
  } finally {
    await file.close();
  }
}
