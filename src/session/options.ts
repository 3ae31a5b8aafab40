import type { Emit } from '../report/events.ts';

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

export interface UpOptions extends CommonOptions {
  /** The address of this machine that the cluster shall use. */
  address?: string;
  /** The port that the gateway listens on; any free one by default. */
  port?: number;
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

export interface DoctorOptions extends CommonOptions {
  /** As for `up`: the address and port that shall be proven. */
  address?: string;
  port?: number;
}

export interface CertsOptions extends CommonOptions {
  watch: boolean;
  /** The directory to write to; where the controller looks by default. */
  output?: string;
}

/** The world as a command sees it. */
export interface Io {
  emit: Emit;
  /** Aborted when the user wants to leave. */
  signal: AbortSignal;
  env: Record<string, string | undefined>;
  cwd: string;
}
