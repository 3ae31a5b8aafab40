import { applyRules } from '../../../../src/local/apply-rules.ts';
import { type Here, RULES, type Rule } from '../../../../src/local/rules.ts';
import { type KnownSettings, openSettings } from '../../../../src/local/settings.ts';
import { recordEvents } from '../../controller/support/events.ts';

const HERE: Here = { paths: [], busyPorts: [], isElectable: false, electionVariables: new Set() };
const FILE = '/state/config.yaml';

interface Start {
  args?: string[];
  variables?: Record<string, string>;
  /** The text of a mounted file. */
  text?: string;
}

/** The settings as these rules make them, with the notes and warnings about that. */
export async function madeLocal(
  { args = [], variables = {}, text }: Start,
  here: Partial<Here> = {},
  { rules = RULES, ...known }: Partial<KnownSettings> & { rules?: Rule[] } = {},
) {
  const start = {
    args: args.map((word) => ({ value: word, shown: word })),
    variables,
    files: new Map(text === undefined ? [] : [[FILE, text]]),
  };
  const settings = openSettings(start, { secrets: new Set(), commandNames: new Set(), ...known });
  const { events, emit } = recordEvents();
  const changes = await applyRules(rules, settings, { ...HERE, ...here }, emit);
  const local = settings.result();
  return {
    args: local.args.map(({ value }) => value),
    variables: local.variables,
    text: local.files.get(FILE),
    changes,
    events,
  };
}
