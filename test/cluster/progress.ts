import type { Log } from './prerequisites.ts';

const IN_PLACE_EVERY_MS = 500;
const LINE_EVERY_MS = 5_000;

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

/** What is in progress. Only the last one, which is the newest, is shown. */
const shown: symbol[] = [];

/**
 * Shows progress until it is disposed, except while something newer is shown. On a terminal, one line changes in place; a log gets a line
 * every five seconds.
 */
export function showProgress(text: () => string, log: Log, terminal: Terminal = process.stderr): Disposable {
  const own = Symbol();
  shown.push(own);
  const show = (): void => {
    if (shown.at(-1) !== own) return;
    // A line that wraps could not be cleared.
    if (terminal.isTTY) terminal.write(`\r\x1b[K${text().slice(0, (terminal.columns || 80) - 1)}`);
    else log(text());
  };
  const timer = setInterval(show, terminal.isTTY ? IN_PLACE_EVERY_MS : LINE_EVERY_MS);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      shown.splice(shown.indexOf(own), 1);
      if (terminal.isTTY) terminal.write('\r\x1b[K');
    },
  };
}

interface Packages {
  compiled: number;
  total: number;
}

/** For example `compiling Kubernetes: 1200 of 3035 packages, about 3 min left`. */
export function describeBuild(what: string, { compiled, total }: Packages, elapsedMs: number): string {
  if (compiled >= total) return `linking ${what}`;
  const packages = `compiling ${what}: ${compiled} of ${total} packages`;
  // The first packages are small, so they say little about the rest.
  if (compiled === 0 || elapsedMs < 10_000) return packages;
  return `${packages}, ${about((elapsedMs / 1000) * (total / compiled - 1))} left`;
}

function about(seconds: number): string {
  if (seconds < 50) return `about ${Math.max(10, Math.round(seconds / 10) * 10)} s`;
  return `about ${Math.ceil(seconds / 60)} min`;
}
