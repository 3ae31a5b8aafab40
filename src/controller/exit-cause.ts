import type { Exit } from './process.ts';

export interface ExitCause {
  /** What happened, in the words of a person. */
  message: string;
  hint: string;
  /** The port that another process held. */
  port?: number;
}

interface Known {
  pattern: RegExp;
  explain(match: RegExpExecArray): ExitCause;
}

/** The reasons for which managers end at once, as Go, client-go and controller-runtime word them. */
const KNOWN: Known[] = [
  {
    pattern: /listen tcp[46]? \S*:(\d+): bind: address already in use/,
    explain: ([, port]) => ({
      message: `port ${port} is in use`,
      hint: 'end the process that holds the port, or give the controller another one',
      port: Number(port),
    }),
  },
  {
    pattern: /open (\S+\.(?:crt|key|pem)): no such file or directory/,
    explain: ([, file]) => ({
      message: `it found no certificate at ${file}`,
      hint: 'devloop certs',
    }),
  },
  {
    pattern: /no matches for kind \\?"([^"\\]+)\\?" in version \\?"([^"\\]+)\\?"/,
    explain: ([, kind, version]) => ({
      message: `the cluster does not know the kind ${kind} of ${version}: its CRD is missing`,
      hint: 'make install',
    }),
  },
  {
    pattern: /open \S+\/serviceaccount\/namespace: no such file/,
    explain: () => ({
      message: 'it reads its namespace from a file that only Pods have',
      hint: 'name it in devloop.yaml, by the variable that the program takes before the file: controller: {env: {OPERATOR_NAMESPACE: …}}',
    }),
  },
  {
    pattern: /unable to find leader election namespace/,
    explain: () => ({
      message: 'it wants leader election, which needs a Pod',
      hint: 'switch leader election off in the configuration that the controller reads (an argument is switched off by devloop)',
    }),
  },
  {
    pattern: /unable to load in-cluster config/,
    explain: () => ({
      message: 'a part of it reaches the cluster only from within a Pod',
      hint: 'switch that part off in the configuration that the controller reads (an API server of its own, for example).',
    }),
  },
];

/** The last well-known cause in the last lines of a controller: what it complained of earlier, it lived with. */
export function exitCause(lines: string[]): ExitCause | undefined {
  for (const line of lines.toReversed()) {
    for (const { pattern, explain } of KNOWN) {
      const match = pattern.exec(line);
      if (match) return explain(match);
    }
  }
  return undefined;
}

export function describeExit(exit: Exit): string {
  if (exit.failure !== undefined) return `could not be started: ${exit.failure}`;
  return exit.signal === null ? `ended with exit code ${exit.code}` : `was ended by ${exit.signal}`;
}
