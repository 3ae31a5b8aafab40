import { spawn } from 'node:child_process';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { median } from '../measure.ts';

/** The address for the reviews, and the review as kube-apiserver would send it. */
export interface Target {
  port: number;
  path: string;
  serverName: string;
  body: string;
}

const SECONDS = 2;
const CLIENTS = 16;

/** Sends reviews from a process of its own: how many per second from many clients, and the median time for one client, in ms. */
export async function loadOf(target: Target): Promise<{ perSecond: number; p50: number }> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(target));
  return JSON.parse(await text(child.stdout));
}

async function run(target: Target): Promise<{ perSecond: number; p50: number }> {
  await clients(target, 1, 0.3);
  const alone = await clients(target, 1, SECONDS);
  const together = await clients(target, CLIENTS, SECONDS);
  return { perSecond: together.length / SECONDS, p50: median(alone) };
}

/** The times of all answers. */
async function clients(target: Target, count: number, seconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const until = performance.now() + seconds * 1000;
  const times: number[] = [];
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const started = performance.now();
      await ask(target, agent);
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: count }, client));
  agent.destroy();
  return times;
}

function ask({ port, path, serverName, body }: Target, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{ agent, host: '127.0.0.1', port, path: `${path}?timeout=10s`, method: 'POST' },
      ...{ servername: serverName, rejectUnauthorized: false },
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      if (incoming.statusCode !== 200) return void reject(new Error(`status ${incoming.statusCode}`));
      incoming.on('end', resolve).resume();
    });
    outgoing.end(body);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(JSON.stringify(await run(JSON.parse(await text(process.stdin)))));
