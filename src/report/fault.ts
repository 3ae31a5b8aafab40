/** A rule by which calls or reviews go wrong on purpose, and what has become of it. */
export interface FaultSummary {
  /** `1`, as `fault clear` takes it. */
  id: string;
  /** As it is written, with its seed. */
  rule: string;
  /** How many calls, events or reviews it was about, and how many of them it met. */
  seen: number;
  met: number;
  /** Its count or its time has been used up. */
  isOver: boolean;
}

/** What a call or a review says about the rules that it met. */
export function faultWords(rules: string[]): string {
  return `[fault: ${rules.join('; ')}]`;
}
