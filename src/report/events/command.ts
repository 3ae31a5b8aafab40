import type { ComparedManifest } from '../manifest.ts';
import type { Searched, SessionStatus } from '../session-status.ts';

/** What commands find, warn of and answer. */
export type CommandEvent =
  /** A value that was discovered or chosen, and where it comes from. */
  | { type: 'discovered'; what: Discovered; value: string; source: string }
  /**
   * A setting, as `config` prints it. `value` is as in devloop.yaml; without one, `otherwise` says what applies. `from`: a flag, a variable,
   * `devloop.yaml` or `default`; two if their values are added.
   */
  | { type: 'setting'; key: string; value?: unknown; otherwise?: string; from: string[] }
  /** Something is not as it should be, but devloop continues. The `code` keeps its meaning; [notices](notices.md) lists them with their `values`. */
  | { type: 'warning'; code: string; values: object; message: string; hint?: string }
  /** Something worth knowing that needs no action. `code` and `values`: as for a warning. */
  | { type: 'note'; code: string; values: object; message: string }
  /** A wait that takes long enough to be noticed. `limitSeconds` is absent if nothing limits the wait, as for a build. */
  | { type: 'waiting'; for: string; seconds: number; limitSeconds?: number; progress?: Progress }
  /** How a CRD, role or webhook configuration of the checkout differs from the cluster's. */
  | ({ type: 'manifest' } & ComparedManifest)
  /** The result of `devloop status`. */
  | { type: 'status'; sessions: SessionStatus[]; searched: Searched }
  /** One result of `devloop doctor`: the `answer`, the `proof` behind it, and a `hint` about what to do next. */
  | {
      type: 'finding';
      check: string;
      verdict: Verdict;
      answer: string;
      proof?: string[];
      latencyMs?: number;
      hint?: string;
    }
  /**
   * The command failed. `summary`: it only sums up the findings before it. `code` and `exitCode` are those of docs/errors.md; a bug in
   * devloop has the code `bug` and exit code 1.
   */
  | { type: 'error'; code: string; message: string; hint?: string; exitCode: number; summary?: true };

/** The progress of a build. */
export interface Progress {
  step: 'compiling' | 'linking' | 'downloading';
  /** The package that is being compiled or linked, or the module that is being downloaded. */
  what: string;
  /** How many packages or modules are done. */
  done: number;
  total?: number;
}

export type Discovered =
  | 'cluster'
  | 'manifests'
  | 'service'
  | 'webhooks'
  | 'deployment'
  | 'statefulset'
  | 'daemonset'
  | 'pod'
  | 'secret'
  | 'main package'
  | 'program'
  | 'build tags'
  | 'compiler flags'
  | 'linker flags'
  | 'address'
  | 'command'
  | 'setting';

/**
 * ok: as it should be; warn: works, but may cause trouble; fail: `up` would fail; info: `up` does not need it; unknown: could not be
 * checked.
 */
export type Verdict = 'ok' | 'warn' | 'fail' | 'info' | 'unknown';
