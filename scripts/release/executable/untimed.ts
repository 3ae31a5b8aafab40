/** V8 notes in a cache which functions have run often or are machine code. Without these flags, the result depends on time. */
export const UNTIMED = ['--no-sparkplug', '--no-profile-guided-optimization'];
