/** An assertion often starts a kubectl, which takes 0.2 s of a processor. */
const PAUSE_MS = 250;

/** Repeats an assertion until it holds, or fails with its last failure when the time is up. */
export async function eventually<T>(assertion: () => Promise<T>, limitMs = 30_000): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
