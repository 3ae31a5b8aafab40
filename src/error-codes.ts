/** What each exit code means. `--help` and docs/errors.md are made from this table. */
export const EXIT_CODES = {
  0: 'done',
  1: 'a bug in devloop',
  2: 'wrong usage or configuration',
  3: 'cluster unreachable, or access denied',
  4: 'held by somebody else, a conflict, or an incomplete restore',
  5: 'the cluster cannot reach this machine',
  6: 'the controller fails to build or start, or does not do as before',
  7: 'the certificate is unusable',
  8: 'the controller would change the cluster, or change it differently (`plan`)',
  125: '`test`: devloop failed; all other codes are those of the command',
  126: '`test`: the command cannot be executed',
  127: '`test`: the command was not found',
  130: 'interrupted; `up` restores everything, unless a second Ctrl-C stops that',
} as const;

/**
 * Every failure that a user can meet and act on. The exit code belongs to the error code, so that message and exit code cannot
 * drift apart; docs/errors.md is generated from this table.
 */
export const CATALOGUE = {
  'usage.invalid': { exit: 2, about: 'A flag or argument is wrong.' },
  'config.invalid': { exit: 2, about: 'devloop.yaml has problems. All of them are listed at once.' },
  'kubeconfig.missing': { exit: 2, about: 'No kubeconfig was found.' },
  'kubeconfig.invalid': { exit: 2, about: 'The kubeconfig cannot be read, or its context is incomplete.' },
  'context.unknown': {
    exit: 2,
    about: 'The kubeconfig has no context of the given name, or devloop remembers nothing about it.',
  },
  'fault.invalid': { exit: 2, about: 'A fault cannot be read, or the session cannot have it.' },
  'context.refused': { exit: 2, about: 'devloop.yaml does not allow this context.' },
  'embedded.no-assets': { exit: 2, about: '`up --embedded` needs etcd and kube-apiserver of envtest.' },
  'embedded.data': {
    exit: 2,
    about:
      'The data that `up --embedded --keep` has kept cannot be used with these programs, or with this checkout.',
  },
  'embedded.ended': {
    exit: 3,
    about: 'etcd or kube-apiserver of `up --embedded` ended by itself, or its session was killed.',
  },
  'embedded.manifests': { exit: 2, about: '`up --embedded` cannot render the manifests of the checkout.' },
  'consent.missing': {
    exit: 2,
    about:
      'devloop would change a cluster for the first time, or pause another Deployment than the manager, and you have not agreed. Without a terminal, or with `--json`, flags have to say so.',
  },
  'cluster.unreachable': { exit: 3, about: 'The API server does not answer.' },
  'cluster.unauthorized': {
    exit: 3,
    about: 'The API server does not accept the credentials. Often a token or client certificate has expired.',
  },
  'cluster.forbidden': {
    exit: 3,
    about: 'The account lacks permissions. All missing ones are listed at once, before the first write.',
  },
  'cluster.rejected': {
    exit: 3,
    about: 'The API server refused a request for a reason that devloop does not expect.',
  },
  'identity.refused': {
    exit: 3,
    about: 'The controller is to work as a ServiceAccount, and your account can make it do that in no way.',
  },
  'target.not-found': {
    exit: 2,
    about:
      'The given Service, Deployment, StatefulSet or DaemonSet does not exist, or the checkout contains no operator that can run here.',
  },
  'target.no-webhook': {
    exit: 2,
    about:
      'This checkout declares webhooks, but nothing in the cluster calls them, and no Deployment matches the checkout by its name.',
  },
  'target.no-operator': {
    exit: 2,
    about: 'This directory is not the checkout of an operator, and no operator was given.',
  },
  'target.ambiguous': {
    exit: 2,
    about: 'Several operators in the cluster match this checkout equally well.',
  },
  'review.not-found': {
    exit: 2,
    about: 'There is no saved set with this name, or the session or set has no such review.',
  },
  'call.not-found': { exit: 2, about: 'The session has recorded no such call or reconcile.' },
  'review.exists': { exit: 2, about: 'A saved set already has this name.' },
  'review.may-be-secret': {
    exit: 2,
    about: 'Reviews that are to be saved in the checkout may contain secrets.',
  },
  'plan.network': { exit: 2, about: 'Nothing here keeps the controller of a plan from the network.' },
  'plan.incomplete': { exit: 6, about: 'The controller of a plan fails before it writes anything.' },
  'plan.changes': { exit: 8, about: 'The code of the checkout would change the cluster.' },
  'crashtest.found': {
    exit: 6,
    about: 'After a crash of the controller, the objects in the cluster do not end as without one.',
  },
  'crashtest.scenario': {
    exit: 2,
    about:
      'The command of `crashtest`, or what takes it back, fails without any crash, or the controller does not come to rest after it.',
  },
  'test.not-found': { exit: 127, about: 'The command of `test` was not found.' },
  'test.not-executable': {
    exit: 126,
    about: 'The command of `test` is no program that this machine can execute.',
  },
  'review.changed': {
    exit: 6,
    about: 'The controller answers recorded reviews differently than before.',
  },
  'service.unsupported': {
    exit: 2,
    about:
      'devloop cannot redirect the webhook Service, for example because it is headless or of type ExternalName.',
  },
  'service.selectorless': {
    exit: 2,
    about:
      'The webhook Service has no selector, and its endpoints were written by hand. The error has the command that restores the selector; `up --adopt` takes the Service over as it is.',
  },
  'pause.unsupported': {
    exit: 2,
    about: 'devloop cannot pause the in-cluster manager, for example because its Pods belong to a Job.',
  },
  'session.not-found': {
    exit: 2,
    about: 'No session is running on this machine, or several are and you chose none.',
  },
  'session.not-ready': {
    exit: 4,
    about: 'The session is starting or ending, or it cannot do what was asked.',
  },
  'wait.timeout': {
    exit: 6,
    about: 'The newest code did not serve within the time that `wait` or `restart` was given.',
  },
  'session.held': { exit: 4, about: 'A live session holds the operator, on this machine or on another one.' },
  'session.overwritten': {
    exit: 4,
    about: 'Somebody else kept overwriting what devloop had changed, so the session has ended.',
  },
  'target.gone': {
    exit: 4,
    about: 'The operator was uninstalled, or its namespace was deleted, while the session was running.',
  },
  'session.lost': {
    exit: 4,
    about: 'Another session, or the manager itself, took over the operator while this one was running.',
  },
  'change.conflict': {
    exit: 4,
    about: 'Somebody else kept changing an object while devloop tried to write it.',
  },
  'restore.blocked': {
    exit: 4,
    about:
      "The operator's own webhooks block its restore while nothing answers them, and devloop cannot answer them from here.",
  },
  'manager.not-started': {
    exit: 4,
    about:
      'The in-cluster manager was resumed but cannot start. For example, its Pods are rejected, cannot be scheduled, cannot pull their image, or crash.',
  },
  'undo.incomplete': {
    exit: 4,
    about: 'Somebody else changed something that devloop had changed, so devloop did not restore it.',
  },
  'route.none': {
    exit: 5,
    about:
      'The cluster cannot reach this machine. The error shows what kube-apiserver answered on each route.',
  },
  'route.address': {
    exit: 2,
    about: 'The address cannot be an endpoint: it is loopback, link-local, or of the wrong IP family.',
  },
  'ssh.unreachable': {
    exit: 5,
    about: 'The SSH host is unknown, refuses the connection, or does not answer.',
  },
  'ssh.host-key': {
    exit: 5,
    about: "The SSH host's key is not in known_hosts, or differs from the one there.",
  },
  'ssh.auth': { exit: 5, about: 'The SSH host accepts none of the keys, or a passphrase is wrong.' },
  'ssh.forwarding': {
    exit: 5,
    about: 'The SSH host refuses to forward the port, or listens where the cluster cannot reach it.',
  },
  'relay.failed': {
    exit: 5,
    about: 'The relay Pod cannot be created, does not start, or cannot be reached.',
  },
  'port.in-use': {
    exit: 6,
    about: 'Another process is using a port that the controller, the debugger or the gateway needs.',
  },
  'port.not-allowed': {
    exit: 6,
    about: 'Your account is not allowed to listen on the port that the controller needs.',
  },
  'controller.no-toolchain': {
    exit: 6,
    about:
      'What the checkout needs is not installed or is too old: Go, or the packages of its language. Or the program that you named for the build does not exist.',
  },
  'controller.no-main': {
    exit: 6,
    about: 'No program of the operator was found, or several were found and none is the obvious choice.',
  },
  'controller.argument': {
    exit: 6,
    about:
      'An argument of the in-cluster manager contains a NUL byte, or would make an interpreter run other code than that of the checkout.',
  },
  'controller.build-failed': { exit: 6, about: 'The first build of the controller failed.' },
  'controller.exited': { exit: 6, about: 'The controller exited right after it started.' },
  'controller.wrong-program': {
    exit: 6,
    about:
      'The controller serves none of the webhooks, or exits with code 0: it is probably not the manager.',
  },
  'controller.client-certificate': {
    exit: 6,
    about: 'The webhook server requires a client certificate, which devloop cannot present.',
  },
  'controller.not-ready': {
    exit: 6,
    about: 'The controller is running, but does not answer on its webhook port.',
  },
  'debug.no-delve': {
    exit: 6,
    about: 'The debugger for Go (dlv) is not installed, or is too old for your version of Go.',
  },
  'files.not-written': {
    exit: 6,
    about:
      'devloop cannot write its own files on this machine, or its output to a file: the disk is full or read-only, or other users could change the files.',
  },
  'certificate.not-found': { exit: 7, about: 'No Secret with a key pair for the webhook Service was found.' },
  'certificate.invalid': {
    exit: 7,
    about: 'The Secret is empty, or its certificate and key cannot be read or do not match.',
  },
  'certificate.unusable': {
    exit: 7,
    about: 'The certificate has expired, is for other names, or does not chain to the caBundle.',
  },
  'certificate.not-written': {
    exit: 7,
    about: 'The key pair cannot be written to the directory where the controller looks for it.',
  },
  interrupted: {
    exit: 130,
    about: 'Interrupted before `up` changed anything, or before `down` had finished.',
  },
} as const satisfies Record<string, { exit: keyof typeof EXIT_CODES; about: string }>;

export type ErrorCode = keyof typeof CATALOGUE;
