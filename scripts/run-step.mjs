import { spawn } from 'node:child_process';
import { constants } from 'node:os';

let running;
let interrupted;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    // A terminal sends Ctrl-C to the child, too, and on a second one devloop would exit without restoring anything.
    const sentByTerminal = signal === 'SIGINT' && process.stdin.isTTY;
    interrupt(signal, sentByTerminal ? undefined : running);
  });
}

// npm signals the shell in which it runs a script, and that shell passes the signal on to nothing.
const parent = process.ppid;
if (process.env.npm_lifecycle_event) {
  setInterval(() => {
    if (process.ppid !== parent && interrupted === undefined) interrupt('SIGTERM', running);
  }, 200).unref();
}

function interrupt(signal, child) {
  interrupted ??= 128 + constants.signals[signal];
  child?.kill(signal);
}

/**
 * Runs a program, prints how long it took, and returns its exit code. After Ctrl-C, waits for the program to end and exits. With
 * `sayEveryMs`, for a program that prints nothing while it works, prints now and then how long it has taken so far.
 */
export async function step(title, command, args, { sayEveryMs, ...options } = {}) {
  say(title);
  const started = performance.now();
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;
  const timer = sayEveryMs && setInterval(() => say(`${title}: ${seconds()} so far`), sayEveryMs);
  const code = await run(command, args, options);
  clearInterval(timer);
  say(`${title}: ${code === 0 ? 'done' : `failed with exit code ${code}`} in ${seconds()}`);
  if (interrupted !== undefined) process.exit(interrupted);
  return code;
}

/** Like `step`, but exits if the program fails. */
export async function requiredStep(...args) {
  const code = await step(...args);
  if (code !== 0) process.exit(code);
}

export function say(text) {
  process.stderr.write(`> ${text}\n`);
}

export function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

function run(command, args, options) {
  return new Promise((resolve) => {
    running = spawn(command, args, { stdio: 'inherit', ...options });
    running.on('error', (error) => {
      say(`could not start ${command}: ${error.message}`);
      resolve(127);
    });
    running.on('close', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}
