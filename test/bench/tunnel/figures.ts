import { median } from '../measure.ts';

/** What one round took of one subject, by name. */
export type Taken = Record<string, number>;

/** What was taken of one subject in all rounds. */
export class Figures {
  readonly #rounds: Taken[] = [];

  add(taken: Taken): void {
    this.#rounds.push(taken);
  }

  median(what: string): number {
    return median(this.#rounds.map((round) => round[what]!));
  }

  sum(what: string): number {
    return this.#rounds.reduce((sum, round) => sum + round[what]!, 0);
  }
}

export interface Compared {
  name: string;
  ours: number;
  anchor: number;
  anchorName: string;
  unit: string;
  /** Bounds of ours / anchor. */
  most?: number;
  least?: number;
}

export function report({ name, ours, anchor, anchorName, unit, most, least }: Compared): void {
  const ratio = ours / anchor;
  const reached = most === undefined ? ratio >= least! : ratio <= most;
  const goal = most === undefined ? `of at least ${least!.toFixed(2)} x` : `of at most ${most.toFixed(2)} x`;
  console.log(
    `${reached ? 'reached' : 'MISSED '}  ${name.padEnd(46)} ${ratio.toFixed(2).padStart(6)} x ${goal} (${ours.toPrecision(4)} ${unit}; ${anchorName}: ${anchor.toPrecision(4)} ${unit})`,
  );
}

/** One subject that was measured as two: how far apart they came out is what the machine does to every ratio. */
export function control(name: string, ratio: number): void {
  const apart = Math.abs(ratio - 1) > 0.15 ? ', TOO FAR APART' : '';
  console.log(`control  ${name.padEnd(46)} ${ratio.toFixed(2)} x: the same subject twice${apart}`);
}

export function shuffled<T>(items: T[]): T[] {
  const keys = new Map(items.map((item) => [item, Math.random()]));
  return items.toSorted((a, b) => keys.get(a)! - keys.get(b)!);
}
