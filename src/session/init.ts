import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { DevloopError, messageOf } from '../errors.ts';
import { fileCause } from '../machine/own-files.ts';
import { replaceTextFile } from '../machine/text-file.ts';
import type { DevloopEvent } from '../report/events.ts';
import { checkoutRoot, isCheckout, SIGNS_OF_A_CHECKOUT } from './context/checkout.ts';
import { DEBUG_PORT, type InitOptions, type Io } from './context/options.ts';
import { goLandConfiguration, goLandPort, LAUNCH_NAME, launchPort, withLaunch } from './editor-files.ts';

/**
 * Adds a configuration to the checkout with which an editor attaches to the debugger of `up --debug`. Existing files keep their other
 * contents.
 */
export async function init({ ide, port }: InitOptions, io: Io): Promise<void> {
  const root = checkoutRoot(io.cwd);
  if (!isCheckout(root)) throw noCheckout(root);
  const file = join(root, ide === 'vscode' ? '.vscode/launch.json' : '.run/devloop.run.xml');
  const before = await textOf(file);
  const after = ide === 'vscode' ? launchFile(file, before, port) : (before ?? goLandConfiguration(port));
  const shown = relative(io.cwd, file);
  if (after === before) {
    const what = ide === 'vscode' ? `already has a configuration "${LAUNCH_NAME}"` : 'already exists';
    const has = ide === 'vscode' ? launchPort(before) : goLandPort(before);
    io.emit(unchanged(`${shown} ${what}`, has, port));
    return;
  }
  await write(file, after);
  const what = before === undefined ? 'written' : `the configuration "${LAUNCH_NAME}" was added`;
  io.emit({
    type: 'note',
    message: `${shown}: ${what}. Start the debugger: devloop up --debug${flagValue(port)}`,
  });
}

/** `has`: the port to which the editor would connect, if it is known. */
function unchanged(what: string, has: number | undefined, wanted: number): DevloopEvent {
  if (has === undefined || has === wanted)
    return { type: 'note', message: `${what}; devloop left it unchanged.` };
  return {
    type: 'warning',
    message: `${what}, for port ${has} instead of ${wanted}; devloop left it unchanged.`,
    hint: `Change the port there, or start the debugger on port ${has}: devloop up --debug${flagValue(has)}`,
  };
}

function noCheckout(root: string): DevloopError {
  const message = `${root} is not a checkout: it contains none of ${SIGNS_OF_A_CHECKOUT.join(', ')}.`;
  return new DevloopError('target.no-operator', message, {
    hint: 'Change to the directory of your checkout.',
  });
}

function flagValue(port: number): string {
  return port === DEBUG_PORT ? '' : `=${port}`;
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

async function write(file: string, text: string): Promise<void> {
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
