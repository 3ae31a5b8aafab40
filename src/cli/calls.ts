import { Command, InvalidArgumentError } from 'commander';
import { NAMESPACE } from '../config/forms.ts';
import type { CallsOptions } from '../session/calls.ts';
import type { TimelineOptions } from '../session/timeline.ts';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';
import { invalid } from './usage.ts';
import { parseAge, parseForm } from './values.ts';

/** `since` is an age here, in ms. */
interface CallsFlags extends NonNullable<CallsOptions['filter']> {
  session?: string;
  follow?: true;
  json?: true;
}

type ObjectWanted = TimelineOptions['object'];

interface TimelineFlags {
  namespace?: string;
  session?: string;
  json?: true;
}

export const CALLS_ACTIONS = ['show', 'export'] as const;

/** Of the commands that read what a session has recorded. */
export const SESSION = 'session on this machine (default: the session of this checkout, or the only session)';

export function callsCommand(shell: Shell): Command {
  const command = new Command('calls')
    .summary('show what the controller asked of the API server')
    .description(
      'Lists the calls of the controller of a running session on this machine: what it read, wrote and was refused. With ids, shows these calls, and what they changed. Values that look secret are replaced before they are stored.',
    )
    .option('--verb <verb>', 'with this verb: get, list, watch, create, update, patch, apply, delete')
    .option('--reconcile <id>', "of the reconcile with this ID of controller-runtime's, as in the log");
  return addExamples(withFilters(command, 'calls', shell), `${shell.name} calls`, [
    ['--writes --since 10m', 'List what it wrote in the last ten minutes'],
    ['--failed', 'List what the API server refused'],
    ['41', 'Show call c-000041, what it changed, and the reviews that it caused'],
    ['export 41 > call.json', 'Write it to a file, with the object before and after it'],
  ]);
}

export function reconcilesCommand(shell: Shell): Command {
  const command = new Command('reconciles')
    .summary('show what the controller did, reconcile by reconcile')
    .description(
      'Lists the reconciles of a running session on this machine: the object, after which events it was reconciled, what was written, and the result. With ids, shows these reconciles with their calls and log lines. Needs controller-runtime and a program that devloop builds.',
    )
    .option('--controller <text>', 'of controllers with this in their name');
  return addExamples(withFilters(command, 'reconciles', shell), `${shell.name} reconciles`, [
    ['--writes', 'List the reconciles that wrote something'],
    ['--failed --follow', 'List each reconcile that fails from now on, too'],
    ['12', 'Show reconcile k-000012: why, its calls, its log lines'],
    ['export 12 > reconcile.json', 'Write it to a file, with all its calls'],
  ]);
}

export function timelineCommand(shell: Shell): Command {
  const command = new Command('timeline')
    .summary('show the life of one object, in one order')
    .description(
      'Lists what a running session on this machine has recorded about one object, oldest first: its reviews, its reconciles and what they logged, what the controller asked of the API server for it, and what others changed in it.',
    )
    .argument('<object>', 'KIND/NAME, as in application/web', parseObject)
    .option('-n, --namespace <name>', 'of the object in this namespace (default: any)', parseForm(NAMESPACE))
    .option('--session <id>', SESSION)
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (object: ObjectWanted, flags: TimelineFlags) => {
      const { session, namespace, json } = flags;
      await shell.run({ ...outputOptions(present({ json })), isPatient: true }, async (io) => {
        const { timeline } = await import('../session/timeline.ts');
        await timeline({ object: { ...object, ...present({ namespace }) }, ...present({ session }) }, io);
      });
    });
  return addExamples(command, `${shell.name} timeline`, [
    ['application/web', 'What happened to Application web'],
    ['deployment/web -n shop', 'What happened to Deployment web in namespace shop'],
  ]);
}

function parseObject(text: string): ObjectWanted {
  const [kind = '', name = '', ...rest] = text.split('/');
  if (kind === '' || name === '' || rest.length > 0)
    throw new InvalidArgumentError('Expected KIND/NAME, as in application/web.');
  return { kind, name };
}

function chosenBy(
  words: string[],
  json: true | undefined,
  command: string,
): Pick<CallsOptions, 'action' | 'ids'> {
  const [first, ...rest] = words;
  const action = CALLS_ACTIONS.find((one) => one === first);
  if (action === undefined) return { action: first === undefined ? 'list' : 'show', ids: words };
  if (rest.length === 0) throw invalid(`\`${action}\` needs an id.`, command);
  if (action === 'export' && json)
    throw invalid('`export` prints what is recorded, so it takes no --json.', `${command} export 41`);
  return { action, ids: rest };
}

function withFilters(command: Command, what: CallsOptions['what'], shell: Shell): Command {
  return command
    .argument('[ids...]', `${what} to show; after the word export, to print as JSON`)
    .option('-f, --follow', 'keep running, and list each new one')
    .option('--session <id>', SESSION)
    .optionsGroup(`Which ${what}:`)
    .option('--kind <kind>', 'of objects of this kind')
    .option('--name <text>', 'of objects with this in their name')
    .option('-n, --namespace <name>', 'of objects in this namespace', parseForm(NAMESPACE))
    .option('--writes', 'that wrote something')
    .option('--failed', 'that failed, or were refused')
    .option('--since <duration>', 'from the last 30s, 10m or 2h', parseAge)
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async (words: string[], { session, follow, json, since, ...filter }: CallsFlags) => {
      const chosen = chosenBy(words, json, `${shell.name} ${what}`);
      await shell.run({ ...outputOptions(present({ json })), isPatient: true }, async (io) => {
        const { calls } = await import('../session/calls.ts');
        const from = present({ since: since && Date.now() - since });
        const selected = { filter: { ...filter, ...from }, follow: follow ?? false };
        const exported = await calls({ what, ...chosen, ...selected, ...present({ session }) }, io);
        if (exported !== '') shell.write(exported);
      });
    });
}
