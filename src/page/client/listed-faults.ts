import type { FaultSummary } from '../../report/fault.ts';

/** A fault of the session, or one without an id that was switched off here. */
export type ListedFault = Omit<FaultSummary, 'id'> & { id?: string };

const MOST_OFF = 20;

/** The faults in the order in which they came, whether they are on or off. */
export class ListedFaults {
  #off: ListedFault[] = [];
  #order: string[] = [];

  of(faults: FaultSummary[]): ListedFault[] {
    const on = new Map<string, ListedFault>(faults.map((one) => [one.rule, one]));
    const all = [...on.values(), ...this.#off.filter(({ rule }) => !on.has(rule))];
    const known = new Set(all.map(({ rule }) => rule));
    this.#order = [...new Set([...this.#order, ...known])].filter((rule) => known.has(rule));
    return this.#order.map((rule) => all.find((one) => one.rule === rule)!);
  }

  setOff({ id: _, ...one }: ListedFault): void {
    this.remove(one.rule);
    this.#off = [...this.#off, one].slice(-MOST_OFF);
  }

  remove(rule: string): void {
    this.#off = this.#off.filter((one) => one.rule !== rule);
  }
}
