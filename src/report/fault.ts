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
  /** Set if it was about nothing yet, and names a resource: what else this session has seen of it since, the most frequent first. */
  instead?: MissedCalls[];
  /** A resource that this session has seen, if the rule's looks like a typo of it. */
  meant?: string;
}

/** Calls, events or reviews of a rule's resource that it is not about. */
export interface MissedCalls {
  verb: string;
  /** With its subresource: `deployments/status`. */
  resource: string;
  times: number;
  /** Only this is different. */
  but?: 'group' | 'namespace' | 'name';
}

/** What a rule that was about nothing yet has missed. */
export function missedFacts({ instead, meant }: Pick<FaultSummary, 'instead' | 'meant'>): string[] {
  if (instead === undefined) return [];
  if (meant !== undefined) return [`nothing of this resource was seen; did you mean ${meant}?`];
  if (instead.length === 0) return [];
  const seen = instead.map(({ verb, resource, times, but }) => {
    const others = but === undefined ? '' : ` with another ${but}`;
    return `${verb} ${resource}${others} ${times === 1 ? 'once' : `${times} times`}`;
  });
  return [`seen instead: ${seen.join(', ')}`];
}

/** What a call or a review says about the rules that it met. */
export function faultWords(rules: string[]): string {
  return `[fault: ${rules.join('; ')}]`;
}
