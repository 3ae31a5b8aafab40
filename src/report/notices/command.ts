import { AGAIN } from '../../errors.ts';
import { counted, inNamespaces } from '../../phrases.ts';
import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What a command finds before it does its work, and how it ends. */
export const COMMAND = {
  /** devloop.yaml has errors, and the command works without it. */
  'config.ignored': warning<{ cause: string }>(({ cause }) => `${cause}\ndevloop ignores this file.`),
  /** What a program that logs in to the cluster has printed. */
  'login.output': note<{ line: string }>(({ line }) => line),
  /** The command is about a session of another checkout. */
  'session.elsewhere': note<{ session: string; checkout: string }>(
    ({ session, checkout }) => `Session ${session} runs in ${checkout}.`,
  ),
  /** The account may not list some kinds of objects, so devloop's changes there cannot be detected. */
  'search.unseen': warning<{ resources: Unseen[] }>(
    ({ resources }) =>
      `Your account is not allowed to list ${unseenText(resources)}, so devloop's changes there cannot be detected.`,
    () => OTHER_NAMESPACE,
  ),
  /** The account may not list the whole cluster, so devloop looked only in these namespaces. */
  'search.partial': warning<{ namespaces: string[] }>(
    ({ namespaces }) =>
      `Your account is not allowed to list the whole cluster, so devloop looked only in ${namespaces.join(', ')}.`,
    () => OTHER_NAMESPACE,
  ),
  /** `status --watch` could not read the sessions, and keeps trying. */
  'search.failed': warning<{ cause: string }>(
    ({ cause }) => `The sessions could not be read: ${cause} devloop keeps trying.`,
  ),
  /** `down` has found no session to restore. `named`: what the user named. `held`: what other sessions hold. */
  'restore.nothing': note<Nothing>(({ context, namespaces, incomplete, named, held }) => {
    const what = named?.join(', ') ?? 'anything';
    const seen = incomplete
      ? 'among the objects that your account is allowed to list'
      : 'so there is nothing to restore';
    const nothing = `No devloop session has changed ${what} ${inNamespaces(namespaces ?? [])} (context ${context}), ${seen}.`;
    return held.length === 0 ? nothing : `${nothing} Other sessions hold ${held.map(describe).join(', ')}.`;
  }),
  /** A process that a killed devloop had left running was stopped, or would be in a dry run. */
  'process.stopped': note<{ pid: number; command: string; dryRun: boolean }>(({ pid, command, dryRun }) => {
    const stopped = dryRun ? 'devloop down would stop' : 'Stopped';
    return `${stopped} what a killed devloop left running (pid ${pid}: ${command}).`;
  }),
  /** `certs`: the key pair is in the directory already. `until`: its end, as an ISO time. */
  'certificate.already-written': note<{ directory: string; until: string }>(
    ({ directory, until }) => `The key pair is already in ${directory}, valid until ${until}.`,
  ),
  /** `doctor` has found nothing with which `up` would fail. */
  'doctor.works': note<{ warnings: number }>(({ warnings }) =>
    warnings === 0
      ? '`devloop up` would work.'
      : `\`devloop up\` would work, with ${counted(warnings, 'warning')}.`,
  ),
  /** `init` has written a file for the editor, or has added a configuration to it. */
  'init.written': note<{ file: string; added?: string; port?: number }>(({ file, added, port }) => {
    const what = added === undefined ? 'written' : `the configuration "${added}" was added`;
    return `${file}: ${what}. Start the debugger: ${debugCommand(port)}`;
  }),
  /** `init --agents` has written a file for coding agents, or has added devloop to it. */
  'init.agents': note<{ file: string }>(({ file }) => `${file}: it names devloop to coding agents now.`),
  /** The file already tells coding agents of devloop. */
  'init.kept': note<{ file: string }>(({ file }) => `${file} names devloop already; it is unchanged.`),
  /** devloop cannot extend this file of `init --agents`, and has left it as it is. `byHand`: what belongs into it. */
  'init.by-hand': warning<{ file: string; problem: string; byHand: string }>(
    ({ file, problem }) => `${file} cannot be extended: ${problem}. It is unchanged.`,
    ({ byHand }) => `Add this to it by hand:\n${byHand}`,
  ),
  /** devloop.yaml names its JSON Schema, so that editors complete and check the settings. */
  'init.schema': note<{ file: string; schema: string }>(
    ({ file, schema }) => `${file}: its first line names its JSON Schema, ${schema}.`,
  ),
  /** The file of `init` is there already, or the configuration in it. */
  'init.unchanged': note<{ file: string; has?: string }>(
    (already) => `${alreadyText(already)}; devloop left it unchanged.`,
  ),
  /** The file of `init` is there already, for another port. `port`: absent if it is the usual one. */
  'init.other-port': warning<{ file: string; has?: string; itsPort: number; wanted: number; port?: number }>(
    ({ itsPort, wanted, ...already }) =>
      `${alreadyText(already)}, for port ${itsPort} instead of ${wanted}; devloop left it unchanged.`,
    ({ itsPort, port }) =>
      `Change the port there, or start the debugger on port ${itsPort}: ${debugCommand(port)}`,
  ),
};

const OTHER_NAMESPACE = `If the operator is in another namespace: ${AGAIN} -n NAMESPACE`;

interface Nothing {
  context: string;
  namespaces?: string[];
  /** The account is not allowed to list all the objects that a session can change. */
  incomplete: boolean;
  named?: string[];
  held: ObjectName[];
}

interface Unseen {
  /** As kubectl lists it: `services` */
  resource: string;
  /** If absent, the whole cluster is meant. */
  namespace?: string;
}

/** `services in shop, leases in shop` */
export function unseenText(unseen: Unseen[]): string {
  return unseen
    .map(({ resource, namespace }) => (namespace === undefined ? resource : `${resource} in ${namespace}`))
    .join(', ');
}

function alreadyText({ file, has }: { file: string; has?: string }): string {
  return `${file} ${has === undefined ? 'already exists' : `already has a configuration "${has}"`}`;
}

function debugCommand(port: number | undefined): string {
  const command = 'devloop up --debug';
  return port === undefined ? command : `${command}=${port}`;
}
