/**
 * Like Promise.all, but a failure waits until the others have come to rest: whoever then puts things back has to find every
 * write that was under way.
 */
export async function allDone<T>(promises: Iterable<Promise<T>>): Promise<T[]> {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<T>).value);
}
