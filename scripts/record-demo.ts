/** `npm run docs -- --recording` runs the demo in a cluster and draws its output as docs/demo.svg. */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { drawRecording, type RecordedLine } from './demo/recording.ts';

const ROOT = join(import.meta.dirname, '..');
const CHAPTER = /^(\W*(?:\[\d+m)?)(\d)\. /;
/** What shows in half a minute what devloop is. The demo tells more, and begins with how the cluster is set up. */
const SHOWN = new Set(['1', '2', '3', '6', '8']);

/** Rejects if the demo fails. */
export async function recordDemo(): Promise<void> {
  const child = spawn(process.execPath, [join(ROOT, 'scripts/demo.ts'), '--cluster'], {
    cwd: ROOT,
    env: { ...process.env, FORCE_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: RecordedLine[] = [];
  let isShown = false;
  createInterface({ input: child.stdout }).on('line', (text) => {
    const [, , chapter] = CHAPTER.exec(text) ?? [];
    if (chapter !== undefined) isShown = SHOWN.has(chapter);
    const shown = text.replace(CHAPTER, '$1').replaceAll(homedir(), '~');
    if (isShown) lines.push({ atMs: performance.now(), text: shown });
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the demo ended with exit code ${code}`);
  await writeFile(join(ROOT, 'docs/demo.svg'), drawRecording(lines));
}
