import type { ObjectName } from '../object-name.ts';

/** The life of the controller: its builds, its process, its election and its debugger. */
export type ControllerEvent =
  /**
   * The controller is being built because these files changed (paths in the checkout, absolute outside it). `reason` is empty for the first
   * build, and for a restart that somebody asked for.
   */
  | { type: 'build.started'; reason: string[] }
  /** The build has succeeded, after `ms`. `identical`: the program is the one that is already running, so it goes on running. */
  | { type: 'build.done'; ms: number; identical?: true }
  /** The build has failed, after `ms`. `output` is what the compiler printed. */
  | { type: 'build.failed'; ms: number; output: string }
  /** The program of a new build did not start, for the reason in `why`, so that of the last build that worked is started again. */
  | { type: 'build.reverted'; why: string }
  /**
   * `build` names the program. In `3f2a91c 10:14:58 +dirty`: its hash (absent if unknown), when its build began, and whether git saw
   * changes then.
   */
  | { type: 'controller.started'; pid: number; command: string[]; build: string; package?: string }
  /** The controller is being restarted because these files changed (as in `build.started`); devloop does not build it. */
  | { type: 'controller.restarting'; reason: string[] }
  /** The controller answers on its webhook port, or runs if it has no webhooks. */
  | { type: 'controller.ready'; pid: number; ms: number }
  /** The controller runs, but has not answered on its webhook port in time. `controller.ready` follows if it does later. */
  | { type: 'controller.silent'; pid: number; ms: number }
  /** `expected`: devloop stopped it. */
  | { type: 'controller.exited'; pid: number; code: number | null; signal: string | null; expected: boolean }
  /** No controller is running (`why` names the cause), and reviews fail. `controller.ready` follows when one answers again. */
  | { type: 'controller.down'; why: string }
  /** A new build is now serving. `ms` runs from the first changed file until it answers; `heldMs` is absent without webhooks. */
  | { type: 'controller.replaced'; pid: number; ms: number; heldMs?: number }
  /** The controller elects a leader and waits to become it, so it does not reconcile yet. `holder`: who holds its Lease, if that is known. */
  | { type: 'leader.waiting'; lease: ObjectName; holder?: string }
  /** A controller that has waited leads now, and reconciles. `ms` runs from the moment when it began to wait. */
  | { type: 'leader.elected'; lease: ObjectName; ms: number }
  /** devloop has freed the Lease of a leader that has ended, so that the next one does not wait until it expires. */
  | { type: 'leader.released'; lease: ObjectName; holder: string }
  /** Files that pin the session's cluster for a controller that the user starts, in the order in which KUBECONFIG lists them. */
  | { type: 'controller.kubeconfig'; files: string[] }
  /**
   * As whom the controller calls the API server from now on: with tokens of a ServiceAccount, by impersonating it, or as the user.
   * `account`: the ServiceAccount, as the API server calls it.
   */
  | { type: 'controller.identity'; how: 'token' | 'impersonation' | 'user'; account?: string }
  /** A line that the controller printed. */
  | { type: 'controller.output'; stream: 'stdout' | 'stderr'; line: string }
  /** `devloop logs`: a line that the controller printed at this time. */
  | { type: 'output.line'; at: string; stream: 'stdout' | 'stderr'; line: string }
  /** Editors can connect to the debugger on this port of 127.0.0.1. */
  | { type: 'debug.listening'; port: number }
  /** An editor has connected and set its breakpoints. */
  | { type: 'debug.attached'; editor: string }
  /** The last editor has disconnected. devloop removed its breakpoints, and the controller keeps running. */
  | { type: 'debug.left'; editor: string }
  /** The controller has stopped at a breakpoint, or between two steps, and does not answer reviews. `file` is a path. */
  | { type: 'debug.stopped'; file?: string; line?: number; function?: string }
  /** A step has ended, and the controller has stopped again at another place. */
  | { type: 'debug.stepped'; file?: string; line?: number; function?: string }
  /** The controller continues after a stop. */
  | { type: 'debug.running' };
