import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const AUTHOR = [
  '-c',
  'user.name=devloop demo',
  '-c',
  'user.email=demo@example.com',
  '-c',
  'commit.gpgSign=false',
];

/** Makes a directory a git repository, so that whoever edits it can see and undo what they changed. Without git it stays as it is. */
export async function commitAll(directory: string): Promise<void> {
  const git = async (...args: string[]): Promise<void> =>
    void (await execute('git', [...AUTHOR, '-C', directory, ...args]));
  try {
    await git('init', '--quiet');
    await git('add', '--all');
    await git('commit', '--quiet', '--no-verify', '--message', 'The sample operator');
  } catch {
    // The demo needs no git.
  }
}
