import { note, warning } from './notice.ts';

/** What is different for the controller on this machine. */
export const LOCAL = {
  /** A setting of the manager cannot work on this machine. `before` and `after` are absent if they come from a Secret. */
  'setting.changed': note<Changed>(changedText),
  /** The controller does not get this argument of the manager. */
  'setting.left-out': note<LeftOut>(leftOutText),
  /** The controller does not get this argument of the manager, and may behave differently without it. */
  'setting.doubtful': warning<LeftOut>(leftOutText),
  /** A mounted file names mounted paths, so the copy of it names the copies. */
  'file.paths': note<{ file: string }>(
    ({ file }) => `In the local copy of ${file}, mounted paths are replaced by those of their copies.`,
  ),
  /** The program elects its Pod as the leader, so leader election stays on, and this Pod stands in for the manager's. */
  'election.stays': note<{ pod: string }>(
    ({ pod }) =>
      `Leader election stays on:\nthis program elects a Pod as its leader, and Pod ${pod} stands in for the manager's Pod.`,
  ),
  /** The user's own command gets no arguments of the manager. */
  'command.without-arguments': note<{ command: string; directory: string }>(
    ({ command, directory }) =>
      `${command}\ndoes not get the manager's arguments (write {args} where it should get them). Its key pair is in ${directory}.`,
  ),
  /** The manager's image starts the program with these words, so the controller gets them, too. */
  'arguments.of-image': note<{ words: string[]; source: string }>(
    ({ words, source }) =>
      `${words.join(' ')}\nis added: the image starts the program with it (ENTRYPOINT or CMD in ${source}).`,
  ),
  /** The manager's arguments are in a shell script, which devloop does not evaluate. */
  'arguments.in-script': warning(
    () =>
      "A shell starts the manager in its container, with a script that devloop does not evaluate, so the controller runs without the manager's arguments.",
  ),
  /** A variable of the manager's container cannot be read. */
  'variable.unknown': warning<{ variable: string; cause: string }>(
    ({ variable, cause }) => `The controller runs without its variable ${variable}: ${cause}.`,
  ),
  /** No process can have a variable with such a value. */
  'variable.nul-byte': warning<{ variable: string }>(
    ({ variable }) =>
      `The controller runs without its variable ${variable}: its value contains a NUL byte, which no variable can contain.`,
  ),
  /** A variable names the node of the manager's Pod, but the controller does not run on a node. */
  'variable.node': note<{ variable: string; node: string }>(
    ({ variable, node }) =>
      `${variable}=${node}\nis an arbitrary node of the cluster: the controller does not run on a node.`,
  ),
  /** The Dockerfile sets these variables. */
  'variables.of-image': note<{ variables: string[] }>(
    ({ variables }) =>
      `${variables.join(', ')}\nset by the Dockerfile: the controller gets what its image sets.`,
  ),
  /** The controller does not get these variables of the Deployment. `most`: how many variables devloop looks for, if there are more. */
  'variables.left-out': note<{ variables: string[]; most?: number }>(({ variables, most }) => {
    const why =
      'its sources do not name them, or this machine or a library could take them for something to load or run';
    const limit = most === undefined ? '' : ` devloop looks only for the first ${most} variables.`;
    const set = variables.map((name) => `${name}: …`).join(', ');
    return `The controller runs without ${variables.join(', ')} from the Deployment:\n${why}.${limit} To set them: controller: {env: {${set}}} in devloop.yaml.`;
  }),
  /** A variable of the user's shell turns the webhooks off. */
  'variable.no-webhooks': warning<{ variable: string; value: string }>(
    ({ variable, value }) =>
      `Your shell sets ${variable}=${value} and the Deployment does not, so the controller will probably serve no webhooks. Unset it to serve them.`,
  ),
  /** Hosts that the settings name, and that usually resolve only in the cluster. */
  'hosts.of-cluster': note<{ hosts: { host: string; settings: string[] }[] }>(({ hosts }) => {
    const list = hosts.map(({ host, settings }) => `${host} (${settings.join(', ')})`).join(', ');
    return `These hosts of the cluster usually do not resolve on this machine:\n${list}`;
  }),
  /** devloop.yaml names a path to watch that does not exist. */
  'watch.missing': warning<{ path: string }>(
    ({ path }) =>
      `controller.watch in devloop.yaml names ${path}, which does not exist, so nothing there is watched.`,
  ),
};

interface Changed {
  /** The name of the flag, variable or key; empty for an argument without a flag. */
  setting: string;
  /** `default`: a flag that no argument sets. */
  place: 'flag' | 'variable' | 'file' | 'default';
  /** The name of the mounted file. */
  file?: string;
  before?: string;
  after?: string;
  because: string;
}

function changedText({ setting, place, file, before, after, because }: Changed): string {
  if (place === 'default') return `${written(setting, after)}\nis added: ${because}`;
  if (place === 'file')
    return `${setting}: ${before} (${file})\nbecomes ${setting}: ${after} in the local copy: ${because}`;
  const outcome = after === undefined ? 'is changed' : `becomes ${written(setting, after)}`;
  return `${written(setting, before)}\n${outcome}: ${because}`;
}

interface LeftOut {
  setting: string;
  before?: string;
  because: string;
}

function leftOutText({ setting, before, because }: LeftOut): string {
  return `${written(setting, before)}\nis left out: ${because}`;
}

/** `--name=value`, `NAME=value`, or the value alone. */
function written(setting: string, value: string | undefined): string {
  if (value === undefined) return setting;
  return setting === '' ? value : `${setting}=${value}`;
}
