import { DevloopError } from '../errors.ts';
import { describeOwner } from '../machine/port.ts';
import { portOwner } from '../machine/system.ts';
import type { Exit } from './process.ts';

export interface ExitCause {
  /** What happened, as the end of a sentence about the controller. */
  message: string;
  hint: string;
  /** The port that another process uses. */
  port?: number;
}

interface KnownCause {
  pattern: RegExp;
  explain(match: RegExpExecArray): ExitCause;
}

/** Why managers fail to start, in the words of Go, client-go and controller-runtime. */
const KNOWN_CAUSES: KnownCause[] = [
  {
    pattern: /listen tcp[46]? \S*:(\d+): bind: address already in use/,
    explain: ([, port]) => ({
      message: `port ${port} is in use`,
      hint: 'end the process that uses the port, or configure another port for the controller',
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
      message: `the cluster has no kind ${kind} in ${version}: its CRD is missing`,
      hint: 'make install',
    }),
  },
  {
    pattern: /open \S+\/serviceaccount\/namespace: no such file/,
    explain: () => ({
      message: 'it reads its namespace from a file that exists only in Pods',
      hint: 'set the variable that the program reads before the file in devloop.yaml, for example: controller: {env: {OPERATOR_NAMESPACE: …}}',
    }),
  },
  {
    pattern: /unable to find leader election namespace/,
    explain: () => ({
      message: 'leader election is on, which works only in a Pod',
      hint: 'turn leader election off in the configuration that the controller reads (devloop does so in arguments and mounted files)',
    }),
  },
  {
    pattern: /unable to load in-cluster config/,
    explain: () => ({
      message:
        'part of it connects to the cluster with the in-cluster configuration, which exists only in Pods',
      hint: 'turn that part off in the configuration of the controller (an API server of its own, for example)',
    }),
  },
];

/** The last known cause in a controller's last lines, because the controller survived the earlier ones. */
export function exitCause(lines: string[]): ExitCause | undefined {
  for (const line of lines.toReversed()) {
    for (const { pattern, explain } of KNOWN_CAUSES) {
      const match = pattern.exec(line);
      if (match) return explain(match);
    }
  }
  return undefined;
}

/** For a controller whose output has been read already. */
export function exitProblem(exit: Exit, lines: string[]): { message: string; hint?: string } {
  const ended = `The controller ${describeExit(exit)}`;
  const cause = exitCause(lines);
  return cause ? { message: `${ended}: ${cause.message}`, hint: cause.hint } : { message: ended };
}

/** For a controller that exited before it was ready: with its last lines, and the process that uses its port. */
export async function exitedError(exit: Exit, lines: string[]): Promise<DevloopError> {
  const { message, hint = SEE_LINES } = exitProblem(exit, lines);
  const port = exitCause(lines)?.port;
  const owner = port === undefined ? '' : ` by ${describeOwner(await portOwner(port))}`;
  const text = [message + owner, ...lines.map((line) => `  ${line}`)].join('\n');
  return new DevloopError('controller.exited', text, {
    hint:
      exit.failure === undefined ? hint : (exit.hint ?? 'Check that the command exists and is executable.'),
  });
}

const SEE_LINES = 'See its last lines above.';

function describeExit({ code, signal, failure }: Exit): string {
  if (failure !== undefined) return `could not be started: ${failure}`;
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
}
