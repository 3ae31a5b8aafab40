import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { normalize } from 'node:path';
import { findProgram } from '../../machine/find-program.ts';
import { forwardLines } from '../../machine/lines.ts';
import { boundedText, TooLong } from './bounded-text.ts';
import { isText } from './header.ts';
import type { Exec } from './kubeconfig-file.ts';
import { refusalOf } from './plugin-policy.ts';
import { parseYamlDocuments } from './yaml-as-in-go.ts';

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

type Lend = <T>(work: () => Promise<T>) => Promise<T>;

/** What a plugin can use of devloop's own terminal. */
export interface PluginHost {
  /** How the terminal is given to the plugin while it runs; undefined if there is none now, such as in the background. */
  terminal?: () => Lend | undefined;
  /** Gets each line that a plugin without a terminal prints for the user. */
  onLine?: (line: string) => void;
}

export interface PluginCredential {
  token: string;
  /** PEM */
  certificate: string;
  /** PEM */
  key: string;
  /** In milliseconds since 1970. */
  expiresAt: number | undefined;
}

/** Why a plugin gave no credential. */
export class PluginError extends Error {
  /** Whether there is no such program. */
  readonly isMissing: boolean;
  constructor(message: string, isMissing = false) {
    super(message);
    this.isMissing = isMissing;
  }
}

export interface PluginCall {
  exec: Exec;
  /** `spec.cluster` of KUBERNETES_EXEC_INFO, for a plugin that wants it. */
  cluster: object;
  env: Record<string, string | undefined>;
  host: PluginHost;
  signal: AbortSignal;
}

/** The terminal for the plugin; undefined if it gets none. Throws PluginError if it needs one. */
function terminalFor({ interactiveMode }: Exec, { terminal }: PluginHost): Lend | undefined {
  const lend = interactiveMode === 'Never' ? undefined : terminal?.();
  if (interactiveMode !== 'Always' || lend !== undefined) return lend;
  throw new PluginError('which needs a terminal, and standard input is none');
}

/** Runs a plugin as kubectl does. Rejects with PluginError, whose message continues "the program X, …". */
export async function runPlugin(call: PluginCall): Promise<PluginCredential> {
  const { exec, env, host } = call;
  if (!VERSIONS.includes(exec.apiVersion))
    throw new PluginError(`whose apiVersion ${exec.apiVersion} kubectl does not know either`);
  const lend = terminalFor(exec, host);
  const command = normalize(exec.command);
  const found = findProgram(command, env.PATH);
  const refusal = await refusalOf(command, 'path' in found ? found.path : command, env);
  if (refusal !== undefined) throw new PluginError(`which is not run: ${refusal}`);
  if ('why' in found) throw new PluginError(found.why, true);
  const run = (): Promise<string> => outputOf(found.path, lend !== undefined, call);
  const output = await (lend?.(run) ?? run());
  return credentialIn(output, exec.apiVersion);
}

async function outputOf(path: string, interactive: boolean, call: PluginCall): Promise<string> {
  const { exec, env, host, signal } = call;
  const info = {
    ...{ kind: 'ExecCredential', apiVersion: exec.apiVersion },
    spec: { ...(exec.provideClusterInfo ? { cluster: call.cluster } : {}), interactive },
  };
  const child = spawn(path, exec.args, {
    argv0: normalize(exec.command),
    env: {
      ...env,
      ...Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    },
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', interactive || !host.onLine ? 'inherit' : 'pipe'],
    signal,
  });
  const ended = once(child, 'close');
  if (child.stderr) void forwardLines(child.stderr, (line) => host.onLine?.(line));
  try {
    const [output, [code, by]] = await Promise.all([boundedText(child.stdout!), ended]);
    if (code === 0) return output;
    throw new PluginError(by === null ? `which failed with exit code ${code}` : `which ended by ${by}`);
  } catch (error) {
    if (error instanceof PluginError || signal.aborted) throw error;
    if (error instanceof TooLong) {
      // It may go on although nobody reads what it prints.
      child.kill('SIGKILL');
      throw new PluginError(`which printed ${error.message}`);
    }
    throw new PluginError(`which could not be run: ${(error as Error).message}`);
  }
}

/** The error never quotes what was printed, because it may contain a token. */
function credentialIn(output: string, apiVersion: string): PluginCredential {
  const printed = parsed(output);
  if ((printed.kind ?? 'ExecCredential') !== 'ExecCredential')
    throw new PluginError('which did not print an ExecCredential');
  if (printed.apiVersion !== apiVersion)
    throw new PluginError(`which did not print an ExecCredential of ${apiVersion}`);
  const status = printed.status as Record<string, unknown> | null | undefined;
  if (typeof status !== 'object' || status === null)
    throw new PluginError('whose ExecCredential has no status');
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status;
  const [given, certificate, key, until] = [
    token ?? '',
    clientCertificateData ?? '',
    clientKeyData ?? '',
    expirationTimestamp ?? '',
  ];
  const isComplete = [given, certificate, key, until].every((one) => typeof one === 'string');
  const expiresAt = until === '' ? undefined : Date.parse(until as string);
  if (!isComplete || Number.isNaN(expiresAt) || !isText(given as string))
    throw new PluginError('whose ExecCredential is malformed');
  if (given === '' && certificate === '' && key === '')
    throw new PluginError('whose ExecCredential has neither a token nor a client certificate');
  if ((certificate === '') !== (key === ''))
    throw new PluginError('whose ExecCredential has a client certificate or its key, but not both');
  return { token: given, certificate, key, expiresAt } as PluginCredential;
}

/** As kubectl does, accepts YAML, too. */
function parsed(output: string): Record<string, unknown> {
  try {
    const value = output.trimStart().startsWith('{') ? JSON.parse(output) : parseYamlDocuments(output)[0];
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The error could quote a token.
  }
  throw new PluginError('which did not print an ExecCredential');
}
