import { spawn, spawnSync } from 'node:child_process';

/** How often each figure is measured, after one round that only warms the caches. */
export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function shuffled<T>(items: T[]): T[] {
  const keys = new Map(items.map((item) => [item, Math.random()]));
  return items.toSorted((a, b) => keys.get(a)! - keys.get(b)!);
}

/** What one round measured, by name. */
export type Taken = Record<string, number>;

/** What was measured in all rounds. */
export class Rounds {
  readonly #rounds: Taken[] = [];

  add(taken: Taken): void {
    this.#rounds.push(taken);
  }

  all(what: string): number[] {
    return this.#rounds.map((round) => round[what]!);
  }

  median(what: string): number {
    return median(this.all(what));
  }

  sum(what: string): number {
    return this.all(what).reduce((sum, value) => sum + value, 0);
  }
}

/** Whole processes: one of each subject in every round, in an order that changes. Medians, in milliseconds. */
export function timeCommands(
  subjects: Record<string, string[]>,
  rounds: number,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, number> {
  const names = Object.keys(subjects);
  const times = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (let index = 0; index < names.length; index++) {
      const name = names[(index + round + names.length) % names.length]!;
      const [program, ...args] = subjects[name]!;
      const started = performance.now();
      const { status } = spawnSync(program!, args, { env, stdio: 'ignore' });
      if (status !== 0) throw new Error(`${subjects[name]!.join(' ')} ended with ${status}`);
      if (round >= 0) times.get(name)!.push(performance.now() - started);
    }
  }
  return Object.fromEntries([...times].map(([name, values]) => [name, median(values)]));
}

/** Runs a command to its end and returns its wall time in milliseconds. */
export async function timeOne(
  command: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<number> {
  const started = performance.now();
  const [program, ...args] = command;
  await new Promise<void>((resolve, reject) => {
    const child = spawn(program!, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk));
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command.join(' ')} ended with ${code}: ${errors}`)),
    );
  });
  return performance.now() - started;
}
