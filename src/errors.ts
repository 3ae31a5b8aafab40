/**
 * Every failure that a user can meet and do something about. The exit code belongs to the code, so that message and exit
 * code cannot drift apart; docs/errors.md is generated from this table.
 *
 * Exit codes: 0 done, 1 a bug of devloop, 2 wrong usage or configuration, 3 cluster not reachable or access denied, 4 held by
 * somebody else or conflict, 5 no route, 6 controller does not build or start, 7 certificate unusable, 130 interrupted and put back.
 */
export const CATALOGUE = {
  'usage.invalid': { exit: 2, about: 'A flag or argument is wrong.' },
  'config.invalid': {
    exit: 2,
    about: 'devloop.yaml does not hold what devloop understands. All problems are listed at once.',
  },
  'kubeconfig.missing': { exit: 2, about: 'No kubeconfig was found.' },
  'kubeconfig.invalid': {
    exit: 2,
    about: 'The kubeconfig cannot be read, or its context points to nothing.',
  },
  'context.unknown': { exit: 2, about: 'The context that was asked for is not in the kubeconfig.' },
  'cluster.unreachable': { exit: 3, about: 'The API server does not answer.' },
  'cluster.unauthorized': {
    exit: 3,
    about: 'The API server does not accept the credentials, often an expired token or client certificate.',
  },
  'cluster.forbidden': {
    exit: 3,
    about: 'The account lacks permissions. All missing ones are listed at once, before the first write.',
  },
  'cluster.rejected': {
    exit: 3,
    about: 'The API server refused a request for a reason that devloop does not expect.',
  },
  'target.not-found': { exit: 2, about: 'The Service or Deployment that was named does not exist.' },
  'target.no-webhook': {
    exit: 2,
    about: 'This checkout declares webhooks, but no webhook configuration of the cluster calls them.',
  },
  'target.no-operator': {
    exit: 2,
    about: 'This directory is no checkout of an operator, and none was named.',
  },
  'target.ambiguous': {
    exit: 2,
    about: 'Several operators of the cluster match this checkout equally well.',
  },
  'service.unsupported': {
    exit: 2,
    about:
      'The webhook Service is headless, of type ExternalName, or has no selector, so there is nothing to take over.',
  },
  'session.held': { exit: 4, about: 'A live session, here or elsewhere, holds the operator.' },
  'session.lost': { exit: 4, about: 'Another session took the operator over while this one ran.' },
  'change.conflict': {
    exit: 4,
    about: 'Somebody else changed an object between read and write, again and again.',
  },
  'undo.incomplete': {
    exit: 4,
    about: 'Something that devloop changed was changed by somebody else since, and was kept as it is.',
  },
  'route.none': {
    exit: 5,
    about:
      'The cluster cannot reach this machine. The answer of kube-apiserver for each way that was tried is shown.',
  },
  'route.address': {
    exit: 2,
    about: 'The address cannot be used as an endpoint (loopback, link-local, or of the wrong IP family).',
  },
  'ssh.unreachable': {
    exit: 5,
    about: 'The SSH host is unknown, refuses the connection, or does not answer.',
  },
  'ssh.host-key': {
    exit: 5,
    about: 'The SSH host shows a key that known_hosts does not hold, or another one than it holds.',
  },
  'ssh.auth': { exit: 5, about: 'The SSH host accepts none of the keys, or a passphrase is wrong.' },
  'ssh.forwarding': {
    exit: 5,
    about: 'The SSH host refuses the port, or listens where the cluster cannot reach it.',
  },
  'relay.failed': { exit: 5, about: 'The relay Pod cannot be created, does not start, or is not reachable.' },
  'port.in-use': { exit: 6, about: 'A port that the controller needs is held by another process.' },
  'controller.no-toolchain': {
    exit: 6,
    about: 'The program that builds the controller (Go) is not installed.',
  },
  'controller.no-main': { exit: 6, about: 'No main package was found, or several and none stands out.' },
  'controller.build-failed': { exit: 6, about: 'The first build of the controller failed.' },
  'controller.exited': { exit: 6, about: 'The controller ended at once.' },
  'controller.not-ready': { exit: 6, about: 'The controller runs, but does not answer on its webhook port.' },
  'certificate.not-found': { exit: 7, about: 'No Secret with a key pair for the webhook Service was found.' },
  'certificate.invalid': {
    exit: 7,
    about: 'The Secret is empty, or certificate and key cannot be read or do not fit together.',
  },
  'certificate.unusable': {
    exit: 7,
    about: 'The certificate has expired, is for other names, or does not chain to the caBundle.',
  },
  'certificate.not-written': {
    exit: 7,
    about: 'The key pair cannot be written to the directory where the controller looks for it.',
  },
  interrupted: { exit: 130, about: 'Interrupted; everything was put back.' },
} as const satisfies Record<string, { exit: number; about: string }>;

export type ErrorCode = keyof typeof CATALOGUE;

export interface DevloopErrorOptions {
  /** The next thing to do, ideally a command to type. */
  hint?: string;
  cause?: unknown;
}

/** An expected failure: something in the world is not as needed. Anything else that is thrown is a bug of devloop. */
export class DevloopError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: DevloopErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DevloopError';
    this.code = code;
    this.hint = options.hint;
  }

  get exitCode(): number {
    return CATALOGUE[this.code].exit;
  }
}

/** What failed first: where the release of something fails after it (the API server is gone, say), the language wraps both. */
export function originOf(error: unknown): unknown {
  return error instanceof SuppressedError ? originOf(error.suppressed) : error;
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
