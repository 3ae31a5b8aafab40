import { CALLS } from './calls.ts';
import { COMMAND } from './command.ts';
import { CONFIGURATION } from './configuration.ts';
import { CONTROLLER } from './controller.ts';
import { DEBUGGER } from './debugger.ts';
import { EMBEDDED } from './embedded.ts';
import { ENDING } from './ending.ts';
import { GATEWAY } from './gateway.ts';
import { GENERATED } from './generated.ts';
import { GUARD } from './guard.ts';
import { IDENTITY } from './identity.ts';
import { LOCAL } from './local.ts';
import { LOCAL_FILES } from './local-files.ts';
import { MCP } from './mcp.ts';
import type { Level, Notice } from './notice.ts';
import { OPERATOR } from './operator.ts';
import { PAUSE } from './pause.ts';
import { RBAC } from './rbac.ts';
import { RELAY } from './relay.ts';
import { RESTORE } from './restore.ts';
import { REVIEWS } from './reviews.ts';
import { ROUTE } from './route.ts';
import { SESSION } from './session.ts';
import { TRIALS } from './trials.ts';
import { VERIFY } from './verify.ts';

/**
 * Every note and warning, by its code. A code keeps its meaning, so scripts and tests look for it and never at the text. docs/notices.md is
 * generated from the files that are put together here.
 */
export const NOTICES = {
  ...CALLS,
  ...COMMAND,
  ...CONFIGURATION,
  ...CONTROLLER,
  ...DEBUGGER,
  ...EMBEDDED,
  ...ENDING,
  ...GATEWAY,
  ...GENERATED,
  ...GUARD,
  ...IDENTITY,
  ...LOCAL,
  ...LOCAL_FILES,
  ...MCP,
  ...OPERATOR,
  ...PAUSE,
  ...RBAC,
  ...RELAY,
  ...RESTORE,
  ...REVIEWS,
  ...ROUTE,
  ...SESSION,
  ...TRIALS,
  ...VERIFY,
};

export type NoticeCode = keyof typeof NOTICES;
type ValuesOf<C extends NoticeCode> = Parameters<(typeof NOTICES)[C]['text']>[0];

/** What a person reads of a note or a warning, and what a script does. */
export interface Told<L extends Level> {
  type: L;
  code: NoticeCode;
  values: object;
  message: string;
  hint?: string;
}

/** The event of a note or a warning. */
export function notice<C extends NoticeCode>(
  code: C,
  values: ValuesOf<C>,
): Told<(typeof NOTICES)[C]['level']> {
  // TypeScript does not know that the entry and the values belong to the same code.
  const { level, text, hint } = NOTICES[code] as Notice<(typeof NOTICES)[C]['level'], ValuesOf<C>>;
  const next = hint?.(values);
  return { type: level, code, values, message: text(values), ...(next !== undefined && { hint: next }) };
}
