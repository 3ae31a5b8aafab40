import type { Ends } from './linux.ts';
import * as linux from './linux.ts';
import * as macos from './macos.ts';

/**
 * What devloop needs from an operating system beyond Node's API. Another system needs one more file like linux.ts, and its
 * own way to signal a process group in process.ts.
 */
interface OperatingSystem {
  /**
   * When a process started, as text that no other process with the same pid can have. If the system has an id for each boot, the text
   * begins with that id and a `/`. Undefined if there is no such process, or only its zombie. This is synchronous, so that a process can be
   * recorded before anything else happens.
   */
  startTimeOf(pid: number): string | undefined;
  /** Whether a process is stopped (Ctrl-Z, SIGSTOP), so that it gets no signal before it continues. */
  isSuspended(pid: number): boolean;
  /** Whether any process of a group still runs. Zombies do not count: only their parent can remove them. */
  hasRunningMember(group: number): Promise<boolean>;
  /** The process groups that still run in the session of a process that devloop started: its own, and those that a debugger creates. */
  groupsOf(leader: number): Promise<number[]>;
  /** Whether a process of a group listens on a TCP port. Also true if that cannot be determined. */
  groupListensOn(group: number, port: number): Promise<boolean>;
  /** The process that listens on a TCP port; undefined when there is none, or when it belongs to another user. */
  portOwner(port: number): Promise<PortOwner | undefined>;
  /** A variable with which a process was started; undefined also if the system does not show it. */
  variableOf(pid: number, name: string): Promise<string | undefined>;
  /**
   * What still runs of a process that leads a session and of what it has started. `mark`: `NAME=value`, a variable of its environment only, by
   * which Linux finds what has left the session.
   */
  startedBy(leader: number, mark: string): Promise<number[]>;
  /**
   * Whether this process is in the foreground of its terminal. The system stops a process that reads or changes its terminal from the
   * background.
   */
  isInForeground(): boolean;
  /**
   * The user of the process at the other end of a connection over loopback; 'gone' if there is none, undefined if the system does not show
   * it.
   */
  peerUser(ends: Ends): Promise<number | 'gone' | undefined>;
}

export interface PortOwner {
  pid: number;
  /** The program's short name. Its arguments can contain secrets. */
  name: string;
}

const isLinux = process.platform === 'linux';

export const startTimeOf: OperatingSystem['startTimeOf'] = isLinux ? linux.startTimeOf : macos.startTimeOf;
export const isSuspended: OperatingSystem['isSuspended'] = isLinux ? linux.isSuspended : macos.isSuspended;
export const hasRunningMember: OperatingSystem['hasRunningMember'] = isLinux
  ? linux.hasRunningMember
  : macos.hasRunningMember;
export const groupsOf: OperatingSystem['groupsOf'] = isLinux ? linux.groupsOf : macos.groupsOf;
export const groupListensOn: OperatingSystem['groupListensOn'] = isLinux
  ? linux.groupListensOn
  : macos.groupListensOn;
export const portOwner: OperatingSystem['portOwner'] = isLinux ? linux.portOwner : macos.portOwner;
export const variableOf: OperatingSystem['variableOf'] = isLinux ? linux.variableOf : macos.variableOf;
export const startedBy: OperatingSystem['startedBy'] = isLinux ? linux.startedBy : macos.startedBy;
export const peerUser: OperatingSystem['peerUser'] = isLinux ? linux.peerUser : macos.peerUser;
export const isInForeground: OperatingSystem['isInForeground'] = isLinux
  ? linux.isInForeground
  : macos.isInForeground;
