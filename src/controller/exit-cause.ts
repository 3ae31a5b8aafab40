import { AGAIN, DevloopError } from '../errors.ts';
import { describeOwner, openingPort } from '../machine/port.ts';
import { portOwner } from '../machine/system.ts';
import { shellWord, shortened } from '../phrases.ts';
import { USE_AN_API_SERVER } from '../report/notices/verify.ts';
import type { Exit } from './process.ts';
import type { Problem } from './restart-state.ts';

export interface ExitCause {
  /** What happened, as the end of a sentence about the controller. */
  message: string;
  hint: string;
  /** The port that another process uses. */
  port?: number;
}

const SEE_LINES = 'See its last lines above.';

interface KnownCause {
  pattern: RegExp;
  /** `lines`: all that is known of the program's output. */
  explain(match: RegExpExecArray, lines: string[]): ExitCause;
}

const VARIABLE = String.raw`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`;
const NAMESPACE_VARIABLE = /\b(?:[A-Z0-9]+_)+NAMESPACE\b/;
const IS_MISSING =
  '(?:must|should|needs? to) (?:be|not be)|(?:is|was|are|has) (?:not|missing|required|empty|unset|undefined)|not (?:set|found|defined|provided)|missing|required|unset';
/** `WATCH_NAMESPACE must be set`, `required key SHOP_TOKEN missing value`. */
const NAMED_FIRST = `(${VARIABLE})["'\`]?,?(?: env(?:ironment)?(?: ?var(?:iable)?)?)? (?:${IS_MISSING})`;
/** `missing environment variable: SHOP_TOKEN`, `please set env var "SHOP_TOKEN"`. */
const NAMED_LAST = `(?:missing|required?|requires|set|define|specify|provide|find|lookup|no|empty)\\b[^\n]{0,40}?\\benv(?:ironment)?\\b[^A-Z\n]{0,20}(${VARIABLE})`;

const POD_FILES = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Creates the file with which controller-runtime can elect a leader outside a Pod, too. */
const NAMESPACE_FILE_COMMAND = `sudo sh -c 'mkdir -p ${POD_FILES} && printf NAMESPACE >${POD_FILES}/namespace'`;

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
    pattern: /listen tcp[46]? \S*:(\d+): bind: permission denied/,
    explain: ([, port]) => ({
      message: `your account is not allowed to listen on port ${port}`,
      hint: openingPort(Number(port)),
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
    pattern: /mkdir (\/[\w./-]*[\w/-]): permission denied/,
    explain: ([, directory]) => ({
      message: `your account is not allowed to create the directory ${directory}, which the image may contain`,
      hint: `sudo install -d -o "$(id -un)" ${shellWord(directory)}`,
    }),
  },
  {
    // Every cluster has the kinds of the core group.
    pattern:
      /devloop: this manager runs without a cluster|no matches for kind \\?"\w+\\?" in (?:version \\?"v1\\?"|group \\?"\\?")/,
    explain: () => ({
      message: 'it reads from the API server when it starts, but it runs without a cluster',
      hint: USE_AN_API_SERVER,
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
    explain: (_, lines) => ({
      message: 'it reads its namespace from a file that exists only in Pods',
      hint: inSettings(NAMESPACE_VARIABLE.exec(lines.join('\n'))?.[0]),
    }),
  },
  {
    pattern: /could not launch process: (?:fork\/exec \S+: operation not permitted|.*ptrace.*)/,
    explain: () => ({
      message: 'delve is not allowed to trace a process on this machine',
      hint: 'in a container, start it with: --cap-add=SYS_PTRACE --security-opt seccomp=unconfined\nelsewhere, this setting must not be 3: sysctl kernel.yama.ptrace_scope',
    }),
  },
  {
    pattern: /could not launch process: could not open debug info/,
    explain: () => ({
      message: 'it was built without debug information',
      hint: 'remove -s and -w from the -ldflags in GOFLAGS: go env GOFLAGS',
    }),
  },
  {
    pattern:
      /(?:Version of Delve is too old for Go version|Go version \S+ is too old for this version of Delve)/,
    explain: ([what]) => ({
      message: `this version of delve does not support this version of Go (${what})`,
      hint: 'install a version of delve with the same minor version as your Go: go install github.com/go-delve/delve/cmd/dlv@v1.<minor version of Go>',
    }),
  },
  {
    pattern: /unable to find leader election namespace/,
    explain: () => ({
      message: 'leader election is on, which works only in a Pod',
      hint: `turn leader election off in the configuration that the controller reads (devloop does so in arguments, variables and mounted files)\nif its sources turn it on, create the file that Pods have: ${NAMESPACE_FILE_COMMAND}`,
    }),
  },
  {
    pattern: /unable to load in-cluster config/,
    explain: () => ({
      message:
        'part of it connects to the cluster with the in-cluster configuration, which exists only in Pods',
      hint: 'turn that part off (for example, an API server of its own) in the configuration of the controller',
    }),
  },
  {
    pattern: new RegExp(`${NAMED_FIRST}|${NAMED_LAST}`),
    explain: ([, first, last]) => ({
      message: `it needs the variable ${first ?? last}, which is not set`,
      hint: inSettings(first ?? last),
    }),
  },
  {
    pattern: /^(?:panic|fatal error): .+/,
    explain: ([text]) => ({ message: shortened(text, MOST_SHOWN), hint: SEE_LINES }),
  },
];

/** How many characters of a panic are repeated. Its text can contain whole objects. */
const MOST_SHOWN = 200;

function inSettings(variable: string | undefined): string {
  return variable === undefined
    ? 'in devloop.yaml, set the variable that the program tries before it reads that file, for example: controller: {env: {OPERATOR_NAMESPACE: …}}'
    : `set it in devloop.yaml: controller: {env: {${variable}: …}}`;
}

/** The last known cause in a controller's last lines, because the controller survived the earlier ones. */
export function exitCause(lines: string[]): ExitCause | undefined {
  for (const line of lines.toReversed()) {
    for (const { pattern, explain } of KNOWN_CAUSES) {
      const match = pattern.exec(line);
      if (match) return explain(match, lines);
    }
  }
  return undefined;
}

/** What to report about the exit of a controller whose output has already been shown. */
export function exitProblem(exit: Exit, lines: string[]): Problem {
  const ended = `The controller ${describeExit(exit)}`;
  const cause = exitCause(lines);
  const error = 'controller.exited';
  return cause
    ? { error, message: `${ended}: ${cause.message}`, hint: cause.hint }
    : { error, message: ended };
}

/** The error for a controller that exited before it was ready, with its last lines and the process that uses its port. */
export async function exitedError(exit: Exit, lines: string[]): Promise<DevloopError> {
  const { message, hint = lines.length > 0 ? SEE_LINES : NO_LINES } = exitProblem(exit, lines);
  const port = exitCause(lines)?.port;
  const owner = port === undefined ? '' : ` by ${describeOwner(await portOwner(port))}`;
  const text = [message + owner, ...lines.map((line) => `  ${line}`)].join('\n');
  return new DevloopError('controller.exited', text, {
    hint:
      exit.failure === undefined ? hint : (exit.hint ?? 'Check that the command exists and is executable.'),
  });
}

/** The error for a program that is probably not the manager. The hint names the programs that could be. */
export function endedByItself(rivals: string[]): DevloopError {
  const message =
    'The controller exited with code 0 without being stopped, so it is probably not the manager.';
  return new DevloopError('controller.wrong-program', message, { hint: nameAnother(rivals) });
}

/** The commands that run another main package. */
export function nameAnother(rivals: string[]): string {
  return [
    'If another program is the manager:',
    ...rivals.map((name) => `devloop up --package ${shellWord(name)}`),
  ].join('\n');
}

const NO_LINES = `It printed nothing. To see its arguments: ${AGAIN} --dry-run`;

export function describeExit({ code, signal, failure }: Exit): string {
  if (failure !== undefined) return `could not be started: ${failure}`;
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
}
