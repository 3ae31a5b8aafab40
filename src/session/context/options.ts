import type { RouteChoice } from '../../config/route-choice.ts';
import type { Emit } from '../../report/events.ts';

/** What every command can be told about the cluster and the operator; everything that is absent is discovered. */
export interface CommonOptions {
  kubeconfig?: string;
  context?: string;
  namespace?: string;
  /** `[namespace/]name` of webhook Services. */
  services: string[];
  /** `[namespace/]name` */
  deployment?: string;
}

/** How the reviews shall come here; what is absent is found out. */
export interface RouteOptions {
  route?: RouteChoice;
  /** What the cluster shall call: an address of this machine, or of the SSH host. */
  address?: string;
  /** The port of that address; any free one by default. */
  port?: number;
  /** Image of the relay Pod, with Node in it. */
  relayImage?: string;
}

export interface UpOptions extends CommonOptions, RouteOptions {
  /** false: route to a process that the user starts. */
  controller: boolean;
  /** Take over although a live session holds the operator. */
  takeOver: boolean;
  dryRun: boolean;
  /** The controller's command, from behind `--`. */
  command?: string[];
}

export interface DownOptions extends CommonOptions {
  takeOver: boolean;
  dryRun: boolean;
}

export interface StatusOptions extends CommonOptions {
  watch: boolean;
}

/** As for `up`: what shall be proven. */
export interface DoctorOptions extends CommonOptions, RouteOptions {}

export interface CertsOptions extends CommonOptions {
  watch: boolean;
  /** The directory to write to; where the controller looks by default. */
  output?: string;
}

/** Asks the person at the terminal; `hidden` answers are not shown as they are typed. Rejects when the person leaves. */
export type Ask = (question: string, options: { hidden: boolean }) => Promise<string>;

/** The world as a command sees it. */
export interface Io {
  emit: Emit;
  /** Absent where nobody can answer. */
  ask?: Ask;
  /** Aborted when the user wants to leave. */
  signal: AbortSignal;
  env: Record<string, string | undefined>;
  cwd: string;
}
