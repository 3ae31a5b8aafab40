/** An assertion often starts a kubectl, which takes 0.2 s of processor time. */
const PAUSE_MS = 250;

/** Repeats an assertion until it succeeds. If it does not succeed in time, fails with its last error. */
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
