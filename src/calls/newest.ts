/** Sets a value, and forgets the one that was set the longest ago if there are too many. */
export function keepNewest<Value>(all: Map<string, Value>, most: number, key: string, value: Value): void {
  all.delete(key);
  all.set(key, value);
  const [oldest] = all.keys();
  if (all.size > most) all.delete(oldest!);
}
