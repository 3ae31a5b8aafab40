import { dirname, join } from 'node:path';
import type { CheckoutFacts } from '../checkout/facts.ts';
import type { Work } from '../cluster/work.ts';
import type { Section } from '../config/table.ts';
import { DEFAULT_CERTIFICATE_DIRECTORY } from '../operator/mounts.ts';
import type { Target } from '../operator/target.ts';
import { notice } from '../report/notices/catalogue.ts';
import { openAmong, type PlannedKeyPairs, planKeyPairFlags, planOwnDirectory } from './default-flags.ts';
import { hardCodedDirectories, type LocalFiles } from './key-pair-files.ts';
import { ARGUMENTS } from './own-command.ts';
import type { PlannedProgram } from './program.ts';

interface KeyPairInputs {
  target: Pick<Target, 'services'>;
  facts: CheckoutFacts;
  settings: Section<'controller'>;
  files: LocalFiles;
  /** The directories in which the manager's container sees the key pairs. */
  keyPairMounts: string[];
  /** The session's state file; built programs are in the same directory. */
  stateFile: string;
}

/** Plans where the program finds its key pairs if no argument or variable (`words`) names the directory. */
export async function planKeyPairs(
  inputs: KeyPairInputs,
  program: PlannedProgram & { words: string[] },
  { emit }: Pick<Work, 'emit'>,
): Promise<PlannedKeyPairs> {
  const { facts, files, keyPairMounts, stateFile } = inputs;
  const hardCoded = hardCodedDirectories(keyPairMounts, program.words, facts.paths);
  if (!program.run.includes(ARGUMENTS)) {
    const command = { command: program.run.join(' '), directory: files.keyPairDirectory };
    if (inputs.target.services.length > 0) emit(notice('command.without-arguments', command));
    return { args: [], hardCoded: openAmong(hardCoded, emit), placed: [] };
  }
  const named = program.is === 'found' ? facts.besideProgram : new Set<string>();
  const beside = besideProgram(keyPairMounts, named, dirname(stateFile));
  const mayLookElsewhere = beside.length > 0 || mayLookForPairElsewhere(inputs, hardCoded);
  const { keyPairDirectory } = files;
  const places = { ...facts, ...program, hardCoded, keyPairDirectory, mayLookElsewhere };
  const planned = await planKeyPairFlags(places, { emit });
  const isUnmounted = inputs.target.services.length > 0 && keyPairMounts.length === 0;
  const own = isUnmounted ? await planOwnDirectory(places, program.words, { emit }) : [];
  return { ...planned, args: [...planned.args, ...own], hardCoded: [...planned.hardCoded, ...beside] };
}

/**
 * Whether the program may look in a directory that the user or the user's variables name, or in controller-runtime's default directory. The
 * Secret must also be mounted at the default directory: OLM mounts it in two directories.
 */
function mayLookForPairElsewhere(
  { files, settings, keyPairMounts }: KeyPairInputs,
  hardCoded: string[],
): boolean {
  const isNamed = !files.keyPairDirectory.startsWith(files.directory) || settings.env !== undefined;
  const others = keyPairMounts.filter((one) => !hardCoded.includes(one));
  return isNamed || others.some((one) => one.endsWith(`/${DEFAULT_CERTIFICATE_DIRECTORY}`));
}

/**
 * The directories in which a program looks for its key pair if it searches beside its own file (`os.Executable()`). In the image, the mount
 * point is beside the program; here, a directory of the same name is beside the program that devloop builds. `named`: the relative paths
 * that the sources look for beside the program.
 */
function besideProgram(
  mountPoints: string[],
  named: ReadonlySet<string>,
  directoryOfProgram: string,
): string[] {
  const found = [...named].flatMap((path) => {
    const parts = path.split('/').filter((part) => part !== '.');
    const heads = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
    return heads.find((head) => mountPoints.some((one) => one.endsWith(`/${head}`))) ?? [];
  });
  return [...new Set(found)]
    .filter((head) => !head.startsWith('..'))
    .map((head) => join(directoryOfProgram, head));
}
