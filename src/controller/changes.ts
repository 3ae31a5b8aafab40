export type OnChange = (files: string[], at: number) => void;

/** Passes changes on, but collects them while paused. */
export function createChanges(report: OnChange): {
  add: OnChange;
  pause(): void;
  resume(): void;
  forget(): void;
  /** The files whose change has not been passed on. */
  waiting(): string[];
} {
  const waiting = new Set<string>();
  let isPaused = false;
  return {
    add(files, at) {
      if (isPaused) for (const file of files) waiting.add(file);
      else report(files, at);
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      if (waiting.size > 0) report([...waiting], performance.now());
      waiting.clear();
    },
    forget: () => waiting.clear(),
    waiting: () => [...waiting],
  };
}
