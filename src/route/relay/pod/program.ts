/** The relay Pod's program: `node relay.cjs relay.json`. Runs on a stock image with Node 20 or later; writes nothing to disk. */
import { readFileSync } from 'node:fs';
import { parseRelayConfig } from '../wire/config.ts';
import { serveRelay } from './server.ts';

const log = (line: string): void => void process.stdout.write(`devloop relay: ${line}\n`);
const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.once(name, () => stop.abort(`received ${name}`));
}

run().then(
  (why) => exit(0, `stopped: ${why}`),
  (error: unknown) => exit(1, `failed: ${error instanceof Error ? error.message : error}`),
);

async function run(): Promise<string> {
  const config = parseRelayConfig(readFileSync(process.argv[2] ?? 'relay.json', 'utf8'));
  return await serveRelay(config, stop.signal, log);
}

/** Exits when the last line is written, since stdout may be a pipe. */
function exit(code: number, line: string): void {
  process.stdout.write(`devloop relay: ${line}\n`, () => process.exit(code));
}
