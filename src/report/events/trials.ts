import type { CrashRound } from '../crash-round.ts';
import type { PlanDifference, PlannedWrite } from '../planned-write.ts';

/** What `test`, `plan` and `crashtest` find. */
export type TrialEvent =
  /** `devloop test` runs the command: the local code answers now. */
  | { type: 'test.started'; command: string[] }
  /**
   * The command of `devloop test` has ended, and everything is restored. `signal`: what killed the command. `reviews` and `reconciles`: what the
   * local code has done meanwhile; `failed` reviews had no verdict of the controller.
   */
  | {
      type: 'test.done';
      command: string[];
      exitCode: number;
      signal?: string;
      ms: number;
      reviews: { all: number; denied: number; failed: number };
      reconciles: { all: number; failed: number };
      hint?: string;
    }
  /** What the controller would write, found by `devloop plan`. */
  | { type: 'plan.write'; write: PlannedWrite }
  /** The plan is complete: how many writes there would be of each kind. */
  | { type: 'plan.done'; create: number; change: number; delete: number; refused: number; notSent: number }
  /** `devloop crashtest` has run the command twice without a crash: what the controller wrote, in how many objects, and where it is to be killed. */
  | { type: 'crashtest.undisturbed'; writes: number; objects: number; points: number; ms: number }
  /** One run of `devloop crashtest`, in which the controller was killed at one of its writes. */
  | { type: 'crashtest.round'; number: number; of: number; round: CrashRound }
  /**
   * The result of `devloop crashtest`. `wrong`: in how many runs the end was another one. `notMet`: in how many the write was not made again.
   * `left`: at how many further writes it was not killed. `isReset`: whether what the last run did was taken back; if not, no other could follow.
   */
  | { type: 'crashtest.done'; points: number; wrong: number; notMet: number; left: number; isReset: boolean }
  /** `devloop plan --against`: a write that the plans of the checkout and of the revision do not have in common. */
  | { type: 'plan.difference'; revision: string; difference: PlanDifference }
  /** How many writes only one of the plans has, how many both have differently, and how many are the same. */
  | {
      type: 'plan.compared';
      against: string;
      checkout: number;
      revision: number;
      both: number;
      same: number;
    };
