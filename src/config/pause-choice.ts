/** How the in-cluster manager is paused: by what owns its Pods, by its leader election Lease, or not at all. */
export const PAUSE_CHOICES = ['auto', 'lease', 'none'] as const;
export type PauseChoice = (typeof PAUSE_CHOICES)[number];

/** Undefined for anything else. */
export function pauseChoiceOf(text: string): PauseChoice | undefined {
  return PAUSE_CHOICES.find((one) => one === text);
}
