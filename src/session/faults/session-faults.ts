import { DevloopError } from '../../errors.ts';
import { Injector, MOST_RULES } from '../../faults/injector.ts';
import { NoRule, parseRule } from '../../faults/parse.ts';
import { type FaultRule, REVIEW } from '../../faults/rule.ts';
import type { Emit } from '../../report/events.ts';
import type { FaultSummary } from '../../report/fault.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { CommandContext } from '../context/context.ts';
import type { UpOptions } from '../context/options.ts';
import { isProxied } from '../context/proxied.ts';

/** What somebody wants to change. */
export interface FaultChange {
  /** Rules, as they are written. */
  add?: string[];
  /** The ids of rules that end; an empty list ends all. */
  clear?: string[];
}

export interface SessionFaults {
  injector: Injector;
  /** How many can still be met. */
  active(): number;
  /** Throws 'fault.invalid'; then nothing is changed. Without a change, it only lists. */
  change(wanted: FaultChange): FaultSummary[];
}

interface FaultySession {
  context: Pick<CommandContext, 'settings'>;
  options: Pick<UpOptions, 'controller'>;
  sessionId: string;
}

/** What goes wrong on purpose in a session: nothing at first. */
export function createFaults(
  { context, options, sessionId: session }: FaultySession,
  emit: Emit,
): SessionFaults {
  const injector = new Injector();
  const change = ({ add = [], clear }: FaultChange): FaultSummary[] => {
    const rules = add.map(faultOf);
    if (!isProxied(context) && rules.some(isAboutCalls)) throw invalid(DIRECT);
    if (!options.controller && rules.some(({ effect }) => effect.do === 'crash')) throw invalid(NOT_STARTED);
    if (clear) clearIn(injector, clear);
    if (!injector.add(rules)) throw invalid(`There can be ${MOST_RULES} faults at most. Clear some first.`);
    const faults = injector.list();
    if (clear || rules.length > 0) emit({ type: 'faults.listed', session, faults });
    warnOfEverything(
      rules.map(({ text }) => text),
      emit,
    );
    return faults;
  };
  return { injector, active: () => injector.list().filter(({ isOver }) => !isOver).length, change };
}

function clearIn(injector: Injector, ids: string[]): void {
  const unknown = injector.clear(ids);
  if (unknown.length > 0) throw invalid(`There is no fault ${unknown.join(', ')}.`);
}

/** Said in the session, and where the faults were typed. */
export function warnOfEverything(rules: string[], emit: Emit): void {
  for (const rule of rules.filter((one) => isAboutEverything(parseRule(one))))
    emit(notice('faults.everything', { rule }));
}

function isAboutEverything({ verbs, resource }: FaultRule): boolean {
  return verbs === undefined && resource === undefined;
}

const NOT_STARTED = 'devloop has not started the controller (--no-controller), so it does not kill it.';

const DIRECT =
  'The controller reaches the API server by itself (--api direct), so its calls cannot be changed.';

function isAboutCalls({ verbs }: FaultRule): boolean {
  return !verbs?.includes(REVIEW);
}

function faultOf(text: string): FaultRule {
  try {
    return parseRule(text);
  } catch (error) {
    if (error instanceof NoRule) throw invalid(`"${text}" is no fault. ${error.message}`);
    throw error;
  }
}

function invalid(message: string): DevloopError {
  return new DevloopError('fault.invalid', message, { hint: 'See `devloop fault add --help`.' });
}
