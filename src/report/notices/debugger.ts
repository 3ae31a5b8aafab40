import { warning } from './notice.ts';

/** Connections to the debugger of `up --debug`. */
export const DEBUGGER = {
  /** A program of another user of this machine tried to connect. */
  'debugger.other-user': warning(
    () => 'A program of another user tried to connect to the debugger; devloop refused it.',
  ),
  /** A program tried to connect that speaks no protocol of the debugger. */
  'debugger.unknown-protocol': warning(
    () =>
      "A program tried to connect to the debugger, but speaks neither the Debug Adapter Protocol nor delve's own; devloop refused it.",
  ),
  /** An editor sent what devloop cannot pass on, so devloop closed its connection. */
  'debugger.editor-closed': warning<{ cause: string }>(
    ({ cause }) => `devloop closed an editor's connection to the debugger: ${cause}.`,
  ),
  /** devloop has lost its own connection to the debugger. */
  'debugger.unseen': warning<{ cause: string }>(
    ({ cause }) => `devloop cannot see the state of the debugger: ${cause}`,
  ),
};
