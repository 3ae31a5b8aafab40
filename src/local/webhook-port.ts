import { basename } from 'node:path';
import type { Work } from '../cluster/work.ts';
import type { LinkedPackages } from '../controller/go/linked-packages.ts';
import { type AddressFlags, addressArguments, argumentsOfProgram } from '../operator/address-flags.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { readFlag } from './arguments.ts';
import { portOf, WORD, withPort, wordsOf } from './busy-ports.ts';
import { isGivenIn } from './default-flags.ts';
import { withFlags } from './flag-place.ts';
import { editSettings } from './settings-file.ts';

/** A port of this machine that replaces a port of the Pod, and why. */
export interface OtherPort {
  port: number;
  because: string;
}

/** What the controller is started with. */
export interface StartSettings {
  args: ExpandedArgument[];
  variables: Record<string, string>;
  /** The texts of its mounted files, by the path of the copy on this machine. */
  files: ReadonlyMap<string, string>;
}

/** One setting that names the port, and how it is changed. */
interface PortSetting {
  words: string;
  note: string;
  apply(settings: StartSettings & { files: Map<string, string> }): void;
}

interface KnownFlags {
  addressFlags: AddressFlags;
  /** Names that the sources give to commands. */
  commandNames?: ReadonlySet<string>;
  /** The program's packages; absent for the user's own command. */
  linked?: LinkedPackages | undefined;
}

/** Matches `webhook-port` and `WEBHOOK_BIND_ADDRESS`. */
const WEBHOOK = new RegExp(`(?:^|_)(?:webhooks?|admission)(?:_${WORD})*_(?:addr|address|port)$`);
/** Matches `port`, `secure-port` and `AGENT_INJECT_LISTEN`. Such a setting is used only if it is the only one with the Pod's port. */
const ANY = /(?:^|_)(?:addr|address|port|listen)$/;
/** Matches names of ports at which others reach the manager, and names of ports of something else. */
const OTHER =
  /(?:^|_)(?:services?|svc|advertised?|external|public|host|proxy|target|remote|peers?|upstream|containers?|nodes?)_/;

/**
 * The settings with which the controller serves webhooks on another port than in its Pod; undefined if no argument, variable, mounted file
 * or default of a flag is known to name the Pod's port.
 */
export async function moveWebhookPort(
  start: StartSettings,
  move: OtherPort & { from: number },
  known: { secrets: ReadonlySet<string> } & KnownFlags,
  { emit }: Pick<Work, 'emit'>,
): Promise<StartSettings | undefined> {
  const all = [
    ...ofArguments(start.args, move),
    ...ofVariables(start.variables, move).filter(({ name }) => !known.secrets.has(name)),
    ...ofFiles(start.files, move),
    ...(await ofDefaults(start.args, move, known)),
  ];
  const certain = all.filter(({ words }) => WEBHOOK.test(words));
  const likely = all.filter(({ words }) => ANY.test(words) && !OTHER.test(words));
  const chosen = certain.length > 0 ? certain : likely;
  if (chosen.length === 0 || (certain.length === 0 && likely.length > 1)) return undefined;
  const settings = { args: [...start.args], variables: { ...start.variables }, files: new Map(start.files) };
  for (const { note, apply } of chosen) {
    apply(settings);
    emit({ type: 'note', message: `${note}: ${move.because}` });
  }
  return settings;
}

type Move = OtherPort & { from: number };

function ofArguments(args: ExpandedArgument[], { from, port }: Move): PortSetting[] {
  return args.flatMap(({ value, shown }, index): PortSetting[] => {
    const flag = value === shown ? readFlag(value, args[index + 1]?.value) : undefined;
    if (flag?.value === undefined || portOf(flag.value) !== from) return [];
    const { name, separate } = flag;
    const after = withPort(flag.value, port);
    const [at, word] = separate ? [index + 1, after] : [index, `${name}=${after}`];
    const space = separate ? ' ' : '=';
    return [
      {
        words: wordsOf(name),
        note: `${name}${space}${flag.value}\nbecomes ${name}${space}${after}`,
        apply(settings) {
          settings.args[at] = { value: word, shown: word };
        },
      },
    ];
  });
}

function ofVariables(
  variables: Record<string, string>,
  { from, port }: Move,
): (PortSetting & { name: string })[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    if (portOf(value) !== from) return [];
    const after = withPort(value, port);
    const note = `${name}=${value}\nbecomes ${name}=${after}`;
    return [
      {
        ...{ name, words: wordsOf(name), note },
        apply(settings) {
          settings.variables[name] = after;
        },
      },
    ];
  });
}

function ofFiles(files: StartSettings['files'], { from, port }: Move): PortSetting[] {
  return [...files].flatMap(([path, text]) => {
    const settings: PortSetting[] = [];
    let count = 0;
    editSettings(text, (key, outer, value) => {
      const at = count++;
      if (portOf(value) !== from) return undefined;
      const after = withPort(value, port);
      const name = outer === '' ? key : `${outer}.${key}`;
      settings.push({
        words: wordsOf(name),
        note: `${name}: ${value} (${basename(path)})\nbecomes ${name}: ${after} in the local copy`,
        apply: ({ files }) => void files.set(path, withSetting(files.get(path)!, at, after)),
      });
      return undefined;
    });
    return settings;
  });
}

/** Changes the setting with the index `at`, counted in the order of the file. */
function withSetting(text: string, at: number, value: string): string {
  let count = 0;
  return editSettings(text, () => (count++ === at ? value : undefined)) ?? text;
}

/** The settings of flags whose defaults name the port; empty for the user's own command, because its flags are not known. */
async function ofDefaults(
  args: ExpandedArgument[],
  { from, port }: Move,
  { addressFlags, commandNames = new Set(), linked }: KnownFlags,
): Promise<PortSetting[]> {
  const words = args.map(({ value }) => value);
  const isGiven = isGivenIn(words);
  const same = addressArguments(addressFlags).filter(({ argument }) => {
    const { name = '', value = '' } = readFlag(argument, undefined) ?? {};
    return portOf(value) === from && ANY.test(wordsOf(name)) && !isGiven(name.slice(2));
  });
  if (linked === undefined || same.length === 0) return [];
  const { commands } = addressFlags;
  const directories = new Set((await linked()).values());
  return argumentsOfProgram(same, { commands, linked: directories, words }).map((argument) => {
    const { name, value } = readFlag(argument, undefined)!;
    const word = `${name}=${withPort(value!, port)}`;
    return {
      words: wordsOf(name),
      note: `${word}\nis added`,
      apply(settings) {
        settings.args = withFlags(settings.args, [{ value: word, shown: word }], commandNames);
      },
    };
  });
}
