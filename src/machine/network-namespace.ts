import { connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { namespaceTool } from './mount-namespace.ts';
import { scriptFlag } from './own-program.ts';
import { listenOn } from './port.ts';
import { runTool } from './tool.ts';

/** The only thing that a program without a network reaches: a port of this machine's loopback, through a unix socket. */
export interface OnlyWay {
  port: number;
  socket: string;
}

/** Without root, the user first becomes the owner of a user namespace, with the same uid. */
function enter(): string[] {
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return [namespaceTool('unshare'), ...own, '--net'];
}

/**
 * The program's variables are also variables of this script, so the script's own are local to a function. The bridge is in the program's
 * process group, so it ends with it.
 */
const ISOLATE = `isolate() {
  local ip node run bridge
  ip=$1 node=$2 run=$3 bridge=$4
  "$ip" link set lo up && [ "$(NODE_OPTIONS= "$node" "$run" "$bridge" "$5" "$6" $$ 2>/dev/null &)" = ready ]
}
isolate "$@" || { echo "devloop: the way to the API server could not be made, so the controller was not started" >&2; exit 1; }
shift 6
exec "$@"`;

/** Listens where the program expects the port. What waits for its first line waits until its output ends. It ends with the program, or with devloop. */
const BRIDGE = `const net = require('node:net'), fs = require('node:fs'), { pipeline } = require('node:stream');
const [, port, path, pid] = process.argv;
const { exit: end } = process;
const listening = () => { fs.writeSync(1, 'ready'); fs.closeSync(1); fs.openSync('/dev/null', 'w'); };
net.createServer((from) => {
  const to = net.connect(path).on('error', (error) => error.syscall === 'connect' && end());
  pipeline(from, to, from, () => {});
}).on('error', () => end()).listen(Number(port), '127.0.0.1', listening);
setInterval(() => { try { process.kill(Number(pid), 0); } catch { end(); } }, 1000);`;

/** The command that runs `command` with a network of its own, in which only the port is what it is on this machine. */
export function withoutNetwork({ port, socket }: OnlyWay, command: string[]): string[] {
  const made = [namespaceTool('ip'), process.execPath, scriptFlag(), BRIDGE, String(port), socket];
  return [...enter(), '/bin/sh', '-c', ISOLATE, 'sh', ...made, ...command];
}

/** This machine's end of the only way. */
export async function openOnlyWay({ port, socket }: OnlyWay): Promise<AsyncDisposable> {
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect({ port, host: '127.0.0.1' });
    open.add(from);
    pipeline(from, to, from, () => void open.delete(from));
  });
  await listenOn(server, { path: socket });
  return {
    async [Symbol.asyncDispose]() {
      for (const one of open) one.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Why this user cannot run a program without a network here; undefined if that is possible. */
export async function whyNotIsolated(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'only Linux can keep a process from the network';
  const { code, missing, stderr } = await runTool([
    ...enter(),
    namespaceTool('ip'),
    'link',
    'set',
    'lo',
    'up',
  ]);
  if (code === 0 && !missing) return undefined;
  return stderr.trim().split('\n').at(-1) || 'unshare (util-linux) was not found';
}
