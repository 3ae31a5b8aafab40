import type { Log } from './prerequisites.ts';

const IN_PLACE_EVERY_MS = 500;
const LINE_EVERY_MS = 30_000;

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

/** While it is not disposed: on a terminal one line that changes in place, elsewhere a line every 30 seconds. */
export function showProgress(text: () => string, log: Log, terminal: Terminal = process.stderr): Disposable {
  const inPlace = (): void => {
    // A line that wraps could not be cleared.
    terminal.write(`\r\x1b[K${text().slice(0, (terminal.columns || 80) - 1)}`);
  };
  const timer = terminal.isTTY
    ? setInterval(inPlace, IN_PLACE_EVERY_MS)
    : setInterval(() => log(text()), LINE_EVERY_MS);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      if (terminal.isTTY) terminal.write('\r\x1b[K');
    },
  };
}

/** For example `compiling Kubernetes: 1200 of 3035 packages, about 3 min left`. */
export function describeBuild(compiled: number, total: number, elapsedMs: number): string {
  if (compiled >= total) return 'linking Kubernetes';
  const packages = `compiling Kubernetes: ${compiled} of ${total} packages`;
  // The first packages are small and say little about the rest.
  if (compiled === 0 || elapsedMs < 10_000) return packages;
  return `${packages}, ${about((elapsedMs / 1000) * (total / compiled - 1))} left`;
}

function about(seconds: number): string {
  if (seconds < 50) return `about ${Math.max(10, Math.round(seconds / 10) * 10)} s`;
  return `about ${Math.ceil(seconds / 60)} min`;
}
