import type { Agent, RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { unauthorizedError } from './errors.ts';
import { notUsable, type Selected } from './kubeconfig.ts';

/** A plugin may open a browser, so it is not run again for each call while its credentials are rejected. */
const REJECTED_PAUSE_MS = 30_000;
/** The user may have to log in with a browser. Without a limit, a session that needs new credentials could not end. */
const LONGEST_LOGIN_MS = 300_000;

/** What @kubernetes/client-node derives from the kubeconfig: headers, a client certificate, and an agent if a proxy is configured. */
export type AuthOptions = RequestOptions & { agent?: Agent };

export interface Credentials {
  readonly current: AuthOptions;
  /** Replaces the rejected credentials, unless another call has just done so. Rejects with `cluster.unauthorized` if that fails. */
  renew(rejected: AuthOptions): Promise<void>;
  /** The error for credentials that were rejected although they had just been renewed. */
  rejection(): DevloopError;
}

/** Creates credentials once for many calls, because running a plugin can take a second. */
export async function createCredentials(first: Selected, limitMs = LONGEST_LOGIN_MS): Promise<Credentials> {
  let selected = first;
  let current = await authenticate(selected, limitMs);
  let renewing: Promise<void> | undefined;
  let rejectedAt = Number.NEGATIVE_INFINITY;
  const renewOnce = async (): Promise<void> => {
    if (performance.now() - rejectedAt < REJECTED_PAUSE_MS) throw unauthorizedError(selected);
    try {
      let again = await authenticate(selected, limitMs);
      // The library runs a plugin again once its token has expired, but only a reload of the kubeconfig finds a new login.
      if (isSame(again, current)) {
        selected = await first.reload();
        again = await authenticate(selected, limitMs);
      }
      current = again;
    } catch (error) {
      rejectedAt = performance.now();
      throw isUnauthorized(error) ? error : unauthorizedError(selected, error);
    }
  };
  return {
    get current() {
      return current;
    },
    async renew(rejected) {
      if (current !== rejected) return;
      renewing ??= renewOnce().finally(() => (renewing = undefined));
      await renewing;
    },
    rejection() {
      rejectedAt = performance.now();
      return unauthorizedError(selected);
    },
  };
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof DevloopError && error.code === 'cluster.unauthorized';
}

function isSame(one: AuthOptions, other: AuthOptions): boolean {
  const identityOf = ({ headers, cert, key }: AuthOptions): unknown => ({ headers, cert, key });
  return isDeepStrictEqual(identityOf(one), identityOf(other));
}

async function authenticate(selected: Selected, limitMs: number): Promise<AuthOptions> {
  const options: AuthOptions = {};
  const ended = new AbortController();
  const login = selected.config.applyToHTTPSOptions(options).then(() => false);
  try {
    if (await Promise.race([login, sleep(limitMs, ended.signal)])) throw tooSlow(selected, limitMs);
  } catch (error) {
    if (isUnauthorized(error)) throw error;
    if (isMissingProgram(error)) throw notInstalled(selected);
    throw isMalformed(error)
      ? notUsable(selected.context, malformed(selected))
      : unauthorizedError(selected, error);
  } finally {
    ended.abort();
  }
  if (options.auth) {
    const basic = Buffer.from(String(options.auth)).toString('base64');
    options.headers = { ...(options.headers as Record<string, string>), authorization: `Basic ${basic}` };
  }
  return options;
}

function isMissingProgram(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' && syscall?.startsWith('spawn') === true;
}

/** The kubeconfig can contain a hint on how to install the plugin. */
function notInstalled({ config, context }: Selected): DevloopError {
  const { command, installHint } = config.getCurrentUser()?.exec ?? {};
  const check = `Install it, then check: kubectl --context ${shellWord(context)} auth whoami`;
  return new DevloopError(
    'cluster.unauthorized',
    `The kubeconfig logs in to context ${context} with the program ${command}, which is not installed, or not on the PATH.`,
    { hint: typeof installHint === 'string' && installHint.trim() !== '' ? installHint.trim() : check },
  );
}

function tooSlow({ config, context }: Selected, limitMs: number): DevloopError {
  const { command } = config.getCurrentUser()?.exec ?? {};
  const how = command === undefined ? '' : ` with the program ${command}`;
  return new DevloopError(
    'cluster.unauthorized',
    `The kubeconfig logs in to context ${context}${how}, which has not answered within ${limitMs / 1000} s.`,
    { hint: `To see what it is waiting for: kubectl --context ${shellWord(context)} auth whoami` },
  );
}

/** Whether the library failed because an entry is malformed. The error's text is not shown, because it may quote what a plugin printed. */
function isMalformed(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError;
}

function malformed({ config }: Selected): string {
  const command: unknown = config.getCurrentUser()?.exec?.command;
  if (command === undefined)
    return 'its cluster or its user has settings in a form that kubectl does not write';
  if (typeof command !== 'string') return 'the command of its exec entry is not text';
  return `its exec entry is malformed, or its plugin ${command} did not print an ExecCredential`;
}
