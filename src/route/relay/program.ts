/** The relay Pod's program: `node relay.cjs relay.json`. Runs on a stock image of Node 20 or later; writes nothing to disk. */
import { readFileSync } from 'node:fs';
import { parseRelayConfig } from './config.ts';
import { serveRelay } from './serve.ts';

const log = (line: string): void => void process.stdout.write(`devloop relay: ${line}\n`);
const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.once(name, () => stop.abort(`asked to stop (${name})`));
}

run().then(
  (why) => leave(0, `${why}; ends.`),
  (error: unknown) => leave(1, `failed: ${error instanceof Error ? error.message : error}`),
);

async function run(): Promise<string> {
  const config = parseRelayConfig(readFileSync(process.argv[2] ?? 'relay.json', 'utf8'));
  return await serveRelay(config, stop.signal, log);
}

/** The last line is out before the process is: stdout may be a pipe. */
function leave(code: number, line: string): void {
  process.stdout.write(`devloop relay: ${line}\n`, () => process.exit(code));
}
