import type { Given } from '../../config/table.ts';
import type { DevloopError } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import type { AttendedSession } from '../../report/session-state.ts';
import type { ReviewFilter } from '../../reviews/select.ts';
import type { PageWarnings } from './page-warnings.ts';
import type { Question } from './question.ts';

export interface CommonOptions {
  kubeconfig?: string;
  /** The settings that the command line sets. `loadSettings` merges them with the others. */
  given: Given;
}

export interface TrustOptions {
  /** Further accounts of the control plane, whose changes devloop answers for while it pauses and restores the manager. */
  trustAccounts?: string[];
}

/** What one run of `up` gets from its command line. Only `given` can be in devloop.yaml, too. */
export interface UpOptions extends CommonOptions, TrustOptions {
  /** Whether devloop starts the controller; otherwise the user starts the process that answers the reviews. */
  controller: boolean;
  /** Whether the program may have webhooks; if not, it runs even if nothing in the cluster matches it. */
  webhooks: boolean;
  /** Whether to take over even if a live session holds the operator. */
  takeOver: boolean;
  /** Whether Services without a selector are taken over as they are. */
  adopt: boolean;
  /** Whether the user has agreed to changes in this cluster. */
  yes: boolean;
  dryRun: boolean;
  /** Whether `up` ends if the first build fails, even at a terminal. */
  failFast: boolean;
  /** Whether each answer carries a warning that names the build that gave it. */
  stamp: boolean;
  /** Whether recorded reviews are sent to the new build after each restart. */
  replay: boolean;
  /** Set if the controller runs under a debugger. */
  debug?: DebugOptions;
  /** All Deployments that are taken over, each by a session of its own; absent if there is only one. */
  deployments?: string[];
  /** The ports that the controllers of these Deployments are known to need on this machine, each with its Deployment. */
  claimed?: Map<number, string>;
  /** What these Deployments need the user's agreement for: it is asked for all of them at once. */
  questions?: Question[];
  /** Whether to open the session's page. */
  open: boolean;
  /** The API server is this session's own and is gone after it: kube-apiserver calls this machine by its egress, and nothing is restored. */
  embedded?: EmbeddedServer;
  /** Whether the data of its API server stays for the next session. */
  keep?: boolean;
}

export interface EmbeddedServer {
  /** Resolves if it ends before the session, with the error that says so. */
  ended: Promise<DevloopError>;
  /** Resolves when the roles exist that Kubernetes itself creates. Until then, accounts are refused. Never rejects. */
  ready: Promise<void>;
  /** Leaves out the webhooks of the checkout that call other Services than these (`namespace/name`), because nothing answers them. */
  serveOnly(services: string[]): Promise<void>;
}

/** The options of `up` for a command that runs the controller by itself, with nobody beside it. */
export const BY_ITSELF = {
  ...{ controller: true, webhooks: true, takeOver: false, adopt: false, dryRun: false },
  ...{ failFast: true, stamp: false, replay: false, open: false },
} as const;

/** The port in delve's own documentation, and in the templates of editors. */
export const DEBUG_PORT = 2345;

export interface DebugOptions {
  /** The port to which editors connect. */
  port: number;
  /** Whether the code of all packages is compiled for the debugger, and not only that of the checkout's modules. */
  all: boolean;
  /** Whether reviews that the webhooks do not answer are admitted while the controller is debugged. */
  ignore: boolean;
}

export const IDES = ['vscode', 'goland'] as const;
export type Ide = (typeof IDES)[number];

export interface InitOptions {
  /** The editor that is to attach to the debugger; absent if none is. */
  ide?: Ide;
  /** The debugger's port. */
  port: number;
  /** Whether coding agents are told of `devloop mcp`. */
  agents?: boolean;
}

export interface DownOptions extends CommonOptions, TrustOptions {
  takeOver: boolean;
  dryRun: boolean;
}

export interface StatusOptions extends CommonOptions {
  watch: boolean;
}

export interface CertsOptions extends CommonOptions {
  watch: boolean;
}

/** The AdmissionReview as JSON, a command for a shell, or a test for the operator's own suite. */
export type ExportFormat = 'review' | 'curl' | 'go';

/** Which reviews to use, and where they come from. */
export interface ReviewsOptions {
  action: 'list' | 'show' | 'export' | 'save' | 'replay' | 'verify';
  /** What `export` prints. */
  format: ExportFormat;
  /** Ids of reviews; for `save`, the name of the set comes first. */
  ids: string[];
  filter: ReviewFilter;
  follow: boolean;
  /** Whether `replay` sends reviews also to webhooks that declare side effects. */
  sideEffects: boolean;
  /** Whether `save` replaces a set of the same name, and `verify` the answers that changed. */
  update: boolean;
  /** Places of a record that `save`, and `verify` with `update`, write although they may be secrets. */
  allow: string[];
  /** The id of a session on this machine; by default, that of this checkout's session. */
  session?: string;
  /** A saved set instead of a session. */
  set?: string;
  /** A kubeconfig, relative to the working directory: the manager of `verify` uses its API server. */
  apiServer?: string;
}

export interface HoldOptions {
  /** Whether reviews are held; otherwise they are released. */
  on: boolean;
  /** The id of a session on this machine; by default, that of this checkout's session. */
  session?: string;
}

/** Asks the user at the terminal. A `hidden` answer is not echoed. Rejects when the user presses Ctrl-C. */
export type Ask = (question: string, options: { hidden: boolean }) => Promise<string>;

/** What a command gets from the process that runs it. */
export interface Io {
  emit: Emit;
  /** Asks the user; absent without a terminal. */
  ask?: Ask;
  /** Asks the user whether to go on; absent without a terminal, and with `--json`, where a script reads the output. */
  confirm?: (question: string) => Promise<boolean>;
  /** How the terminal is given to a program that may ask the user; absent without a terminal, and undefined while devloop is in its background. */
  terminal?: () => (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /** Shows the session at the bottom of the terminal, and passes keys to it, until disposed. Absent without a terminal. */
  attend?: (session: AttendedSession) => Promise<Disposable>;
  /** Calls the listener before Ctrl-Z suspends this process, until disposed. */
  onSuspend?: (listener: () => void) => Disposable;
  /** Called when another process asks something of the session. */
  onAsked?: () => void;
  /** Called with the context and kubeconfig that the user chose, if any, before the command uses the cluster. */
  onCluster?: (chosen: { context?: string; kubeconfig?: string | undefined }) => void;
  /** The warnings so far, for the page; absent until they are kept. */
  warnings?: PageWarnings;
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /** A coding agent asks: sessions of other checkouts are neither used nor named, and `doctor` writes nothing to a cluster. */
  forAgent?: true;
  env: Record<string, string | undefined>;
  cwd: string;
}
