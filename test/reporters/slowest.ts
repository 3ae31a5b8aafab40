import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const COUNT = 10;

/** Ends the report of a run with its slowest files. */
export const slowest: Reporter = {
  onTestRunEnd(modules) {
    const timed = modules.map((module) => ({
      name: nameOf(module),
      seconds: module.diagnostic().duration / 1000,
    }));
    const list = timed.sort((a, b) => b.seconds - a.seconds).slice(0, COUNT);
    if (list.length < 2) return;
    console.log('\n Slowest files');
    for (const { name, seconds } of list) console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
  },
};

function nameOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}
