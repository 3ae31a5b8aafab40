import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';

/** The Debian package. */
export const BROWSER_PACKAGES = { chromium: 'chromium' };

const FLAGS = [
  '--headless=new',
  // As root, in a container or in a test's namespace, its sandbox cannot start.
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--hide-scrollbars',
  '--remote-debugging-port=0',
];

/** Long, because the machine may be busy with builds. */
const LIMIT_MS = 60_000;
/** How many characters of a page are printed if it never becomes what a test waits for. */
const MOST_SHOWN = 2_000;

/** One tab of a real Chromium, driven by the DevTools protocol. */
export interface Tab {
  goto(url: string): Promise<void>;
  /** The value of an expression in the page; if it is a promise, the value that it resolves to. */
  evaluate<T = unknown>(expression: string): Promise<T>;
  /** Waits until the expression is true. An expression that throws is not true yet. */
  until(expression: string): Promise<void>;
  press(key: string): Promise<void>;
  type(text: string): Promise<void>;
  click(selector: string): Promise<void>;
  use(look: { scheme?: 'light' | 'dark'; width?: number; height?: number }): Promise<void>;
  screenshot(file: string): Promise<void>;
  close(): Promise<void>;
  /** Sends any other command. */
  send<T = Record<string, unknown>>(method: string, parameters?: object): Promise<T>;
  /** What the page wrote to its console, and its uncaught errors. */
  readonly complaints: string[];
}

export interface Browser extends AsyncDisposable {
  open(): Promise<Tab>;
  /** The pids of the processes that show pages. */
  rendererPids(): Promise<number[]>;
}

export async function startBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
  const child = spawn('chromium', [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: profile },
  });
  const closed = once(child, 'close');
  const address = await debuggerAddress(child.stderr);
  const socket = new WebSocket(address, { perMessageDeflate: false });
  await once(socket, 'open');
  const protocol = createProtocol(socket);
  return {
    async open() {
      const { targetId } = await protocol.send<{ targetId: string }>('Target.createTarget', {
        url: 'about:blank',
      });
      const { sessionId } = await protocol.send<{ sessionId: string }>('Target.attachToTarget', {
        targetId,
        flatten: true,
      });
      const tab = await createTab(protocol, { targetId, sessionId });
      await tab.use({});
      return tab;
    },
    async rendererPids() {
      const { processInfo } = await protocol.send<ProcessInfo>('SystemInfo.getProcessInfo');
      return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      child.kill('SIGKILL');
      await closed;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface ProcessInfo {
  processInfo: { type: string; id: number }[];
}

async function debuggerAddress(stderr: NodeJS.ReadableStream): Promise<string> {
  const said: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    said.push(line);
    const [, address] = /^DevTools listening on (ws:.*)$/.exec(line) ?? [];
    if (address === undefined) continue;
    stderr.resume();
    return address;
  }
  throw new Error(`Chromium did not start:\n${said.join('\n')}`);
}

interface Protocol {
  send<T = Record<string, unknown>>(method: string, parameters?: object, sessionId?: string): Promise<T>;
  listen(listener: (message: Message) => void): void;
}

interface Message {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { message: string };
}

function createProtocol(socket: WebSocket): Protocol {
  const waiting = new Map<number, (message: Message) => void>();
  const listeners = new Set<(message: Message) => void>();
  let last = 0;
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    else for (const listener of listeners) listener(message);
  });
  return {
    send(method, params = {}, sessionId) {
      const id = ++last;
      socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
      return new Promise((resolve, reject) => {
        waiting.set(id, ({ result, error }) => {
          waiting.delete(id);
          if (error) reject(new Error(`${method}: ${error.message}`));
          else resolve(result as never);
        });
      });
    },
    listen: (listener) => void listeners.add(listener),
  };
}

interface Evaluated {
  result: { value: unknown };
  exceptionDetails?: { text: string; exception?: { description?: string } };
}

async function createTab(
  protocol: Protocol,
  { targetId, sessionId }: { targetId: string; sessionId: string },
): Promise<Tab> {
  const send: Tab['send'] = (method, parameters) => protocol.send(method, parameters, sessionId);
  const complaints: string[] = [];
  protocol.listen(({ method, params, ...message }) => {
    if (message.sessionId !== sessionId) return;
    if (
      method === 'Runtime.exceptionThrown' ||
      method === 'Log.entryAdded' ||
      method === 'Runtime.consoleAPICalled'
    )
      complaints.push(JSON.stringify(params));
  });
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`);
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send<Evaluated>('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as T;
  };
  /** The test polls, and not the page, because the page may be reloaded in the meantime. */
  const until = async (expression: string): Promise<void> => {
    const isTrue = `(async () => { try { return (${expression}) === true; } catch { return false; } })()`;
    const deadline = Date.now() + LIMIT_MS;
    while (!(await evaluate<boolean>(isTrue).catch(() => false))) {
      if (Date.now() > deadline) {
        const shown = await evaluate<string>('document.body.innerText').catch(String);
        throw new Error(`never true: ${expression}\n${shown.slice(0, MOST_SHOWN)}`);
      }
      await sleep(20);
    }
  };
  return {
    complaints,
    send,
    evaluate,
    async goto(url) {
      await send('Page.navigate', { url });
      await until('document.readyState === "complete"');
    },
    until,
    async press(key) {
      const { code, text } = KEYS[key] ?? {};
      const of = {
        key,
        code: code ?? key,
        windowsVirtualKeyCode: CODES[key] ?? 0,
        ...(text ? { text } : {}),
      };
      await send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...of });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...of });
    },
    type: async (text) => void (await send('Input.insertText', { text })),
    async click(selector) {
      // A pane that opens moves what is in it: a place counts when it holds for a frame and nothing lies above it.
      const spot = `(async () => {
        const element = document.querySelector(${JSON.stringify(selector)});
        element.scrollIntoView({ block: 'nearest' });
        const middle = () => {
          const { x, y, width, height } = element.getBoundingClientRect();
          return [x + width / 2, y + height / 2];
        };
        const [x, y] = middle();
        await new Promise((painted) => setTimeout(painted, 30));
        const isStill = middle().join() === [x, y].join();
        return isStill && element.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
      })()`;
      const find = (): Promise<[number, number] | null> => evaluate(spot);
      const deadline = Date.now() + LIMIT_MS;
      let place = await find();
      for (; place === null; place = await find())
        if (Date.now() > deadline) throw new Error(`never still and in sight: ${selector}`);
      const [x, y] = place;
      for (const type of ['mousePressed', 'mouseReleased'])
        await send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
    },
    close: async () => void (await protocol.send('Target.closeTarget', { targetId })),
    async use({ scheme = 'light', width = 1280, height = 800 }) {
      await send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: scheme }],
      });
      await send('Emulation.setDeviceMetricsOverride', {
        width,
        height,
        deviceScaleFactor: 1,
        mobile: false,
      });
    },
    async screenshot(file) {
      const { data } = await send<{ data: string }>('Page.captureScreenshot', { format: 'png' });
      await writeFile(file, Buffer.from(data, 'base64'));
    },
  };
}

const KEYS: Record<string, { code?: string; text?: string }> = { Enter: { text: '\r' } };
const CODES: Record<string, number> = {
  Backspace: 8,
  Enter: 13,
  Escape: 27,
  End: 35,
  Home: 36,
  PageUp: 33,
  PageDown: 34,
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Tab: 9,
};
