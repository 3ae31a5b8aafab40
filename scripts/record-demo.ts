/** `npm run docs -- --recording` runs the demo and draws its output as docs/demo.svg. */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { drawRecording, type RecordedLine } from './demo/recording.ts';

const ROOT = join(import.meta.dirname, '..');
/** The recording starts at this chapter and leaves out how the cluster is set up. */
const FIRST = /1\. Before/;

/** Rejects if the demo fails. */
export async function recordDemo(): Promise<void> {
  const child = spawn(process.execPath, [join(ROOT, 'scripts/demo.ts')], {
    cwd: ROOT,
    env: { ...process.env, FORCE_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: RecordedLine[] = [];
  let isShown = false;
  createInterface({ input: child.stdout }).on('line', (text) => {
    isShown ||= FIRST.test(text);
    if (isShown) lines.push({ atMs: performance.now(), text: text.replaceAll(homedir(), '~') });
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the demo ended with exit code ${code}`);
  await writeFile(join(ROOT, 'docs/demo.svg'), drawRecording(lines));
}
