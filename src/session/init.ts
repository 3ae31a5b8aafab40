import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { DevloopError, messageOf } from '../errors.ts';
import { fileCause, requireWithin } from '../machine/own-files.ts';
import { replaceTextFile } from '../machine/text-file.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutRoot, isCheckout, SIGNS_OF_A_CHECKOUT } from './context/checkout.ts';
import { DEBUG_PORT, type Ide, type InitOptions, type Io } from './context/options.ts';
import { agentFiles } from './init/agent-files.ts';
import { goLandConfiguration, goLandPort, LAUNCH_NAME, launchPort, withLaunch } from './init/editor-files.ts';
import { linkSchema } from './init/schema-link.ts';

/**
 * Adds to the checkout what an editor needs to attach to the debugger of `up --debug`, and what tells coding agents of `devloop mcp`. Existing
 * files keep their other contents. Also links devloop.yaml to its JSON Schema. Resolves to false if there was nothing to do.
 */
export async function init({ ide, port, agents }: InitOptions, io: Io): Promise<boolean> {
  const root = await checkoutRoot(io.cwd);
  if (!isCheckout(root)) throw noCheckout(root);
  if (ide !== undefined) await configureEditor(root, { ide, port }, io);
  if (agents) await tellAgents(root, io);
  const isLinked = await linkSchema(io, (file, text) => write(root, file, text));
  return isLinked || ide !== undefined || agents === true;
}

async function tellAgents(root: string, io: Io): Promise<void> {
  for (const { name, change, byHand } of agentFiles()) {
    const file = join(root, name);
    const shown = relative(io.cwd, file);
    const before = await textOf(file);
    const after = change(before);
    if (typeof after !== 'string')
      io.emit(notice('init.by-hand', { file: shown, problem: after.problem, byHand }));
    else if (after === before) io.emit(notice('init.kept', { file: shown }));
    else {
      await write(root, file, after);
      io.emit(notice('init.agents', { file: shown }));
    }
  }
}

async function configureEditor(
  root: string,
  { ide, port }: { ide: Ide; port: number },
  io: Io,
): Promise<void> {
  const file = join(root, ide === 'vscode' ? '.vscode/launch.json' : '.run/devloop.run.xml');
  const before = await textOf(file);
  const after = ide === 'vscode' ? launchFile(file, before, port) : (before ?? goLandConfiguration(port));
  const shown = relative(io.cwd, file);
  if (after === before) {
    const itsPort = ide === 'vscode' ? launchPort(before) : goLandPort(before);
    io.emit(unchanged({ file: shown, ...(ide === 'vscode' && { has: LAUNCH_NAME }) }, itsPort, port));
    return;
  }
  await write(root, file, after);
  const added = before === undefined ? {} : { added: LAUNCH_NAME };
  io.emit(notice('init.written', { file: shown, ...added, ...unusual(port) }));
}

/** `itsPort`: the port to which the editor would connect, if it is known. */
function unchanged(
  already: { file: string; has?: string },
  itsPort: number | undefined,
  wanted: number,
): DevloopEvent {
  if (itsPort === undefined || itsPort === wanted) return notice('init.unchanged', already);
  return notice('init.other-port', { ...already, itsPort, wanted, ...unusual(itsPort) });
}

function noCheckout(root: string): DevloopError {
  const message = `${root} is not a checkout: it contains none of ${SIGNS_OF_A_CHECKOUT.join(', ')}.`;
  return new DevloopError('target.no-operator', message, {
    hint: 'Change to the directory of your checkout.',
  });
}

/** The usual port needs no value on the command line. */
function unusual(port: number): { port?: number } {
  return port === DEBUG_PORT ? {} : { port };
}

function launchFile(file: string, before: string | undefined, port: number): string {
  const added = withLaunch(before, port);
  if (typeof added === 'string') return added;
  throw new DevloopError('config.invalid', `${file} cannot be extended: ${added.problem}.`, {
    hint: 'Correct the file, then run the command again.',
  });
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const cause = fileCause(file, error) ?? messageOf(error);
    throw new DevloopError('config.invalid', `${file} cannot be read: ${cause}.`, {
      hint: 'Move it out of the way or correct its permissions, then run the command again.',
    });
  }
}

async function write(root: string, file: string, text: string): Promise<void> {
  await requireWithin(root, file);
  try {
    await mkdir(dirname(file), { recursive: true });
    await replaceTextFile(file, text);
  } catch (error) {
    const cause = fileCause(file, error);
    if (cause === undefined) throw error;
    throw new DevloopError('files.not-written', `${file} cannot be written: ${cause}. It is unchanged.`, {
      hint: 'Make room or correct the permissions, then run the command again.',
      cause: error,
    });
  }
}
