/** Faults to begin with, by what they stand for. */
export const EXAMPLES: [label: string, rule: string][] = [
  ['Conflicts on half of the updates', '409 update share=50%'],
  ['Slow writes', 'delay=2s write'],
  ['API server unavailable for 10 s', '503 read,write for=10s'],
  ['Watches that end', 'cut watch count=3'],
  ['Reviews that fail', '503 review'],
  ['Controller killed after its next write', 'crash write count=1'],
];
