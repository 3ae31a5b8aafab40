import { join } from 'node:path';
import type { BuildOptions } from 'esbuild';

/** The relay Pod's program: one file for Node 20 in a stock image, mounted from a Secret, which holds at most 1 MiB. */
export function relayProgram(outfile: string): BuildOptions {
  return {
    absWorkingDir: join(import.meta.dirname, '..'),
    entryPoints: ['src/route/relay/pod/program.ts'],
    outfile,
    bundle: true,
    minify: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  };
}
