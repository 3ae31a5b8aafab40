import { spawn, spawnSync } from 'node:child_process';

export interface Figure {
  name: string;
  ours: number;
  anchor: number;
  anchorName: string;
  /** The most that ours / anchor may be, or with `limitMs` the most that ours may take. */
  goal: number;
  unit: 'x' | 'ms';
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Whole processes, one of each subject in every round, in an order that changes. Milliseconds, medians. */
export function timeCommands(
  subjects: Record<string, string[]>,
  rounds: number,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, number> {
  const { NODE_EXTRA_CA_CERTS: _, ...clean } = env;
  const names = Object.keys(subjects);
  const times = new Map<string, number[]>(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (let index = 0; index < names.length; index++) {
      const name = names[(index + round + names.length) % names.length]!;
      const [program, ...args] = subjects[name]!;
      const started = performance.now();
      const { status } = spawnSync(program!, args, { env: clean, stdio: 'ignore' });
      if (status !== 0) throw new Error(`${subjects[name]!.join(' ')} ended with ${status}`);
      // The first round only warms caches.
      if (round >= 0) times.get(name)!.push(performance.now() - started);
    }
  }
  return Object.fromEntries([...times].map(([name, values]) => [name, median(values)]));
}

/** Runs a command to its end and returns its wall time. */
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

export function print({ name, ours, anchor, anchorName, goal, unit }: Figure): void {
  const ratio = ours / anchor;
  const reached = unit === 'x' ? ratio <= goal : ours <= goal;
  const goalText = unit === 'x' ? `${goal.toFixed(2)} x` : `${goal.toFixed(0)} ms`;
  const value = unit === 'x' ? `${ratio.toFixed(2)} x` : `${ours.toFixed(0)} ms`;
  console.log(
    `${reached ? 'reached' : 'MISSED '}  ${name.padEnd(46)} ${value.padStart(9)} of at most ${goalText.padEnd(8)} (${ours.toFixed(1)} ms; ${anchorName}: ${anchor.toFixed(1)} ms)`,
  );
}
