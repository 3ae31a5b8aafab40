import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { runTool } from '../../machine/tool.ts';
import type { Checkout } from '../files.ts';
import { startedWords } from '../image/started-words.ts';
import { containerWords, readImage, type WorkloadImage } from '../image/workload-image.ts';
import type { FoundProgram, Preflight, ProgramHints } from '../language.ts';
import { isAtOrBelow } from '../paths.ts';
import { type ChosenFile, chooseFile } from './choice.ts';
import { foreignWord, moduleIn, type OwnCode, type PythonCommand, pythonCommand } from './command.ts';
import {
  findInEnvironment,
  installCommand,
  type PythonEnvironment,
  pythonEnvironment,
} from './environment.ts';

/** The Python program that is the manager, as its container or its image starts it, or else the one file that can be it. */
export async function pythonProgram(checkout: Checkout, hints: ProgramHints): Promise<FoundProgram> {
  const { root } = checkout;
  const image = await readImage(checkout, hints);
  const here = ownCode(checkout, image);
  const started = hints.named ? undefined : startedBy(hints, image);
  const chosen: Started = started ?? chooseFile(checkout, hints);
  const own = here.ownWords(chosen.command);
  const environment = await pythonEnvironment(root, hints.signal);
  const executable = findInEnvironment(chosen.command.program, environment);
  if (executable === undefined) throw missing(root, chosen.command.program, environment);
  return {
    what: 'program',
    name: chosen.name ?? nameOf(own, root) ?? chosen.command.program,
    source: chosen.source,
    chosen: [],
    cwd: root,
    run: [executable, '{args}'],
    argumentsIn: (words) => {
      const now = chosen.commandAfter?.(words);
      return now === undefined ? own : here.ownWords({ ...now, program: chosen.command.program });
    },
    ownVariables: { ...environment.env, ...modulePath(own, root) },
    preflight: async (signal) =>
      await preflight(root, { program: chosen.command.program, executable, env: environment.env }, signal),
    hasWebhooks: true,
    rivals: chosen.rivals ?? [],
    ...image,
  };
}

interface Started extends Partial<Pick<ChosenFile, 'name' | 'rivals'>> {
  command: PythonCommand;
  source: string;
  /** The command, given the container's words after its first one, which can be a runner such as uv. */
  commandAfter?(words: string[]): PythonCommand | undefined;
}

/** What the container runs: its own command, or its image's. */
function startedBy(hints: ProgramHints, image: WorkloadImage): Started | undefined {
  const { words, source } = containerWords(hints, image);
  const found = pythonCommand(words);
  if (found === undefined) return undefined;
  const [first = ''] = startedWords(words);
  return { command: found, source, commandAfter: (rest) => pythonCommand([first, ...rest]) };
}

interface Here {
  /** The words with paths of the image as this machine names them. Throws 'controller.argument' if they could run other code. */
  ownWords(command: PythonCommand): string[];
}

function ownCode(checkout: Checkout, image: WorkloadImage): Here {
  const { root } = checkout;
  const files = checkout.files((name) => name.endsWith('.py'));
  const all = new Set(files);
  const places = [root, join(root, 'src')];
  const isModule = (name: string): boolean =>
    places.some((place) =>
      ['.py', '/__init__.py', '/__main__.py'].some((end) => all.has(join(place, name + end))),
    );
  const own: OwnCode = {
    hasFile: (word) => all.has(resolve(root, word)),
    hasModule: (name) => isModule(name.split(':')[0]!.replaceAll('.', '/')),
    scripts: scriptsOf(checkout),
  };
  return {
    ownWords({ program, words }) {
      const here = words.map((word) => localPath(word, { root, image, files }));
      const foreign = foreignWord({ program, words: here }, own);
      if (foreign === undefined) return here;
      throw new DevloopError(
        'controller.argument',
        `The manager is started with ${[program, ...words].join(' ')}, and ${foreign} is no code of this checkout, so devloop does not run it.`,
        {
          hint: 'Name the file to run, or your own command:\ndevloop up --package FILE\ndevloop up -- COMMAND',
        },
      );
    },
  };
}

/** The names of the programs that pyproject.toml declares: `[project.scripts]`, or poetry's. */
function scriptsOf(checkout: Checkout): Set<string> {
  const text = checkout.text(join(checkout.root, 'pyproject.toml'));
  const sections = text.split(/^\[/m).filter((one) => /^(?:project|tool\.poetry)\.scripts\]/.test(one));
  return new Set(sections.flatMap((one) => [...one.matchAll(SCRIPT)].map(([, name]) => name!)));
}

const SCRIPT = /^["']?([\w.-]+)["']?\s*=/gm;

/** A word that names a file of the image, as this machine names it; any other word stays. */
function localPath(
  word: string,
  { root, image, files }: { root: string; image: WorkloadImage; files: string[] },
): string {
  if (!/[./]/.test(word) || word.startsWith('-')) return word;
  const whole = image.imageFiles.findLast(({ to }) => isAtOrBelow(word, to));
  if (whole !== undefined) {
    const place = join(whole.from, word.slice(whole.to.length));
    if (existsSync(place)) return place;
  }
  if (!word.endsWith('.py') || existsSync(join(root, word))) return word;
  const same = files.filter((file) => basename(file) === basename(word));
  return same.length === 1 ? same[0]! : word;
}

/** The file or module that the words start, as `--package` takes it. */
function nameOf(words: string[], root: string): string | undefined {
  const file = words.find((word) => word.endsWith('.py'));
  return file === undefined ? moduleIn(words) : relative(root, resolve(root, file));
}

/** A module in src is found only with PYTHONPATH, if the project is not installed. */
function modulePath(words: string[], root: string): Record<string, string> {
  const module = moduleIn(words)?.replaceAll('.', '/') ?? '';
  const isIn = (place: string): boolean =>
    [module, `${module}.py`].some((name) => existsSync(join(place, name)));
  const source = join(root, 'src');
  return module !== '' && !isIn(root) && isIn(source) ? { PYTHONPATH: source } : {};
}

function missing(root: string, program: string, { directory }: PythonEnvironment): DevloopError {
  const where = directory === undefined ? 'on the PATH, and the checkout has no .venv' : `in ${directory}`;
  return new DevloopError(
    'controller.no-toolchain',
    `The operator is started with ${program}, which is not ${where}.`,
    { hint: installCommand(root) },
  );
}

/** Whether Python, or kopf, starts. A program of the checkout is not asked, since one without arguments of its own would begin to work. */
async function preflight(
  root: string,
  { program, executable, env }: { program: string; executable: string; env: Record<string, string> },
  signal: AbortSignal,
): Promise<Preflight> {
  if (program !== 'python' && program !== 'kopf') return { is: 'ready' };
  const words = [executable, '--help'];
  const { code, stdout, stderr } = await runTool(words, {
    cwd: root,
    env: { ...process.env, ...env },
    signal,
  });
  if (code === 0) return { is: 'ready' };
  return { is: 'broken', problem: (stderr || stdout).trim(), hint: installCommand(root) };
}
