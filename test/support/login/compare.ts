import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Certificates } from './certificates.ts';
import { openProxy, type ProxyServer } from './proxies.ts';
import { openRecorder, type Recorder } from './recorder.ts';
import { HOME_CONFIG, type Outcome, type Situation } from './situation.ts';

/** A command that asks the API server who it is. */
export interface Client {
  command: string[];
  /** The class of a failure, from what was printed. */
  failure(printed: string): string;
}

export async function outcomeOf(
  client: Client,
  one: Situation,
  certificates: Certificates,
): Promise<Outcome & { printed: string }> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'login-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const recorder = stack.use(await recorderFor(one, certificates));
  const proxy = one.proxy && stack.use(await proxyFor(one.proxy, certificates, one, recorder));
  const address = one.server?.address ?? '127.0.0.1';
  const host = address.includes(':') ? `[${address}]` : address;
  const filled = (text: string): string =>
    text
      .replaceAll('@DIR@', directory)
      .replaceAll('@HOST@', host)
      .replaceAll('@PORT@', String(recorder.port))
      .replaceAll('@PROXY@', String(proxy?.port))
      .replaceAll(/@(PEM|KEY)(64|JSON)?:([\w-]+)@/g, (_all, what: string, form: string, name: string) => {
        const pair = certificates[name];
        if (!pair) throw new Error(`there is no certificate ${name}`);
        const pem = what === 'KEY' ? pair.key : pair.certificate;
        if (form === '64') return Buffer.from(pem).toString('base64');
        return form === 'JSON' ? JSON.stringify(pem).slice(1, -1) : pem;
      });
  await prepare(directory, one, filled);
  const { code, printed } = await run(client.command, directory, one, filled);
  const anonymous = (text: string): string =>
    text
      .replaceAll(directory, 'DIR')
      .replaceAll(`:${recorder.port}`, ':PORT')
      .replaceAll(`:${proxy?.port}`, ':PROXY');
  const plugins = await readFile(join(directory, 'plugins'), 'utf8').catch(() => '');
  return {
    result: code === 0 ? 'ok' : client.failure(printed),
    server: [...new Set(recorder.seen)].map(anonymous),
    proxy: [...new Set(proxy?.asked)].map(anonymous),
    plugins: plugins
      .split('\n')
      .filter((line) => line !== '')
      .map(comparable)
      .map(anonymous),
    tokens: await tokensIn(join(directory, HOME_CONFIG)),
    printed,
  };
}

async function tokensIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return [...text.matchAll(/((?:id|refresh)-token)"?: ?"?([\w.-]+)/g)]
    .map(([, name, value]) => `${name}=${value}`)
    .sort();
}

/** The order of the keys of KUBERNETES_EXEC_INFO does not matter. */
function comparable(line: string): string {
  return line.replace(/(?<=info=)\{.*\}(?= extra=)/, (json) => JSON.stringify(sorted(JSON.parse(json))));
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

async function recorderFor({ server = {} }: Situation, certificates: Certificates): Promise<Recorder> {
  const { certificate = 'server', chainOf, plain, ...settings } = server;
  const pair = certificates[certificate]!;
  const chain = chainOf === undefined ? {} : { chain: certificates[chainOf]!.certificate };
  return await openRecorder({ ...settings, ...(plain ? {} : { pair, ...chain }) });
}

async function proxyFor(
  { certificate = 'server', ...settings }: NonNullable<Situation['proxy']>,
  certificates: Certificates,
  { server }: Situation,
  recorder: Recorder,
): Promise<ProxyServer> {
  const pair = settings.kind === 'https' ? { pair: certificates[certificate]! } : {};
  return await openProxy({ ...settings, ...pair }, () => ({
    host: server?.address ?? '127.0.0.1',
    port: recorder.port,
  }));
}

async function prepare(
  directory: string,
  { files }: Situation,
  filled: (text: string) => string,
): Promise<void> {
  for (const name of ['home/.kube', 'work', 'bin']) await mkdir(join(directory, name), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    const text = filled(typeof content === 'string' ? content : JSON.stringify(content));
    if (text.startsWith('-> ')) await symlink(text.slice(3), path);
    else await writeFile(path, text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
  }
}

const LONGEST_MS = 30_000;

async function run(
  command: string[],
  directory: string,
  { env = {}, args = [], terminal }: Situation,
  filled: (text: string) => string,
): Promise<{ code: number | null; printed: string }> {
  const all = [...command, ...args.map(filled)];
  const line = all.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  const [program, ...rest] = terminal
    ? ['script', '--quiet', '--return', '--command', line, '/dev/null']
    : all;
  const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]));
  const child = spawn(program!, rest, {
    cwd: join(directory, 'work'),
    // kubectl needs a third less time without the garbage collector.
    env: {
      GOGC: 'off',
      HOME: join(directory, 'home'),
      PATH: `${join(directory, 'bin')}:/usr/bin:/bin`,
      ...own,
    },
    stdio: [terminal ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream!.on('data', (chunk) => (printed += chunk));
  if (terminal) child.stdin!.write('typed\n');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, printed };
}
