import { relative } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { WatchTarget } from '../../../../src/controller/watch/scope.ts';
import { type FirstLook, watchSources } from '../../../../src/controller/watch/watch.ts';
import { put } from './places.ts';

const NEVER = new AbortController().signal;

/** Watches until the test ends. */
export async function watchIn(
  directory: string,
  target: WatchTarget,
  sinceMs = Number.POSITIVE_INFINITY,
  firstLook?: Promise<FirstLook>,
) {
  const seen: string[][] = [];
  let wake = () => {};
  const watcher = await watchSources({
    cwd: directory,
    target,
    firstLook,
    sinceMs,
    isOfBuild: () => false,
    signal: NEVER,
    onChange(files) {
      seen.push(files.map((file) => relative(directory, file)));
      wake();
    },
    onError: (message) => expect.unreachable(message),
  });
  onTestFinished(() => watcher[Symbol.asyncDispose]());
  /** Waits for these changes and for the mark, which is made last. Any other change until then is one too many. */
  async function expectChanges(expected: string[], mark: string): Promise<void> {
    await put(directory, mark, `package main\n\nconst mark = ${performance.now()}\n`);
    const wanted = [...expected, mark].sort();
    while (!wanted.every((file) => seen.flat().includes(file))) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    expect([...new Set(seen.splice(0).flat())].sort()).toEqual(wanted);
  }
  return { watcher, seen, expectChanges };
}
