import type { Flag, ProgramCommand } from './flags.ts';

/** What sources reveal about their operator. */
export interface SourceFacts {
  /** Everything in the sources that looks like an absolute path: HTTP paths, and paths of files. */
  paths: Set<string>;
  /** Names of objects that the sources mention, such as the names under which a program registers webhooks. */
  quoted: Set<string>;
  /** Relative paths of files that the sources look for beside their own program. */
  besideProgram: Set<string>;
  flags: Flag[];
  /** The commands of its programs, each of which can have flags of its own. */
  commands: ProgramCommand[];
  /** Variables that the sources read for the leader election switch. */
  electionVariables: Set<string>;
  /** Names of commands in the sources. A command is a word in front of a program's flags. */
  commandNames: Set<string>;
  /** Whether the sources read the variable KUBECONFIG themselves. client-go would read it as a list of files. */
  kubeconfigVariable: boolean;
  /** Whether the sources connect to the cluster as a program in a Pod does. */
  connectsFromPod: boolean;
  /** The setting with which a TLS server requires client certificates: `ClientCAName: "ca.crt"`. */
  clientCertificates?: string | undefined;
  /** Whether the sources register or declare webhooks. */
  declaresWebhooks: boolean;
}
