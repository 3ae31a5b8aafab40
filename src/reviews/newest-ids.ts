import { open } from 'node:fs/promises';

const MOST_BYTES = 1024 * 1024;
const MOST = 100;

/** The ids with this letter of the newest records, oldest first: of those at the end of each file, however large it is. */
export async function newestIds(files: string[], letter: 'r' | 'c' | 'k'): Promise<string[]> {
  const ends = await Promise.all(files.map((file) => endOf(file).catch(() => '')));
  const ids = ends
    .flatMap((end) => end.split('\n'))
    .map(idIn)
    .filter((id) => id.startsWith(letter));
  return [...new Set(ids)].slice(-MOST);
}

async function endOf(file: string): Promise<string> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const length = Math.min(size, MOST_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead).toString('utf8');
}

/** The first line may be half a line, and people may edit a saved set. */
function idIn(line: string): string {
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    return typeof id === 'string' && /^[rck]-\d{6,15}$/.test(id) ? id : '';
  } catch {
    return '';
  }
}
