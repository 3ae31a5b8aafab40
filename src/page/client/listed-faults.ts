import type { FaultSummary } from '../../report/fault.ts';

/** A fault of the session, or one without an id that was switched off here. `key`: stays while it is switched off and on, which changes the id. */
export type ListedFault = Omit<FaultSummary, 'id'> & { id?: string; key: string };

const MOST_OFF = 20;

/** The faults in the order in which they came, whether they are on or off. Several can have the same rule. */
export class ListedFaults {
  #off: ListedFault[] = [];
  #order: string[] = [];
  #keys = new Map<string, string>();

  of(faults: FaultSummary[]): ListedFault[] {
    const on = faults.map((one): ListedFault & { id: string } => ({ ...one, key: this.#keyOf(one) }));
    this.#keys = new Map(on.map(({ id, key }) => [id, key]));
    const all = new Map([...this.#off, ...on].map((one) => [one.key, one]));
    this.#order = [...new Set([...this.#order, ...all.keys()])].filter((key) => all.has(key));
    return this.#order.map((key) => all.get(key)!);
  }

  setOff({ id: _, ...one }: ListedFault): void {
    this.remove(one.key);
    this.#off = [...this.#off, one].slice(-MOST_OFF);
  }

  remove(key: string): void {
    this.#off = this.#off.filter((one) => one.key !== key);
  }

  /** A new fault takes the place of one with the same rule that was switched off. */
  #keyOf({ id, rule }: FaultSummary): string {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const off = this.#off.find((one) => one.rule === rule);
    if (off) this.remove(off.key);
    return off?.key ?? id;
  }
}
