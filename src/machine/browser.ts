import { spawn } from 'node:child_process';
import { shellWord } from '../phrases.ts';

type Environment = Record<string, string | undefined>;

/** The program that opens a browser can run as long as the browser. If it cannot open one, it fails within this time. */
const FAILS_WITHIN_MS = 3_000;

/** Whether the user would see a browser that opens on this machine; the user may be at another one. */
export function hasDesktop({ SSH_CONNECTION, DISPLAY, WAYLAND_DISPLAY }: Environment): boolean {
  if (process.platform === 'darwin') return SSH_CONNECTION === undefined;
  return Boolean(DISPLAY || WAYLAND_DISPLAY);
}

/** Opens the address in the user's browser, without a shell. Resolves to whether that worked. */
export function openBrowser(url: string, env: Environment): Promise<boolean> {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [url], { env, detached: true, stdio: 'ignore' });
  child.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FAILS_WITHIN_MS, true);
    const end = (worked: boolean): void => {
      clearTimeout(timer);
      resolve(worked);
    };
    child.once('error', () => end(false));
    child.once('exit', (code) => end(code === 0));
  });
}

/** For a user who is connected by SSH: the command that makes this port available on the user's own machine. Undefined without SSH. */
export function tunnelTo(
  port: string,
  { SSH_CONNECTION = '', USER, LOGNAME }: Environment,
): string | undefined {
  const [, , address] = SSH_CONNECTION.split(' ');
  const user = USER ?? LOGNAME;
  if (!address || !user) return undefined;
  return `ssh -L ${port}:127.0.0.1:${port} ${shellWord(user)}@${shellWord(address)}`;
}
