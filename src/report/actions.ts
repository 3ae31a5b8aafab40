import type { SessionState } from './session-state.ts';

/** Something that a person can do with a running session. */
export interface Action {
  /** The key that does it at the session's terminal. Actions that undo each other share a key. */
  key: string;
  /** What the key does, for the list of keys; absent if the other action of the key says it. */
  help?: string;
  /** The label of the page's button; absent if the page has none. */
  button?: string;
  /** Whether the session is in a state in which this changes something. Absent: always. */
  isOffered?(
    state: Pick<SessionState, 'isHeld' | 'isFollowing' | 'hasController' | 'route' | 'account'>,
  ): boolean;
}

/**
 * Each action, by the name under which other terminals and the page ask for it. Of the actions with the same key, the first one that is
 * offered is meant, so what undoes something comes first.
 */
export const ACTIONS = {
  release: { key: 'h', button: 'Release reviews', isOffered: ({ isHeld }) => isHeld },
  hold: {
    key: 'h',
    help: 'hold reviews, or release them',
    button: 'Hold reviews',
    isOffered: ({ route, isHeld }) => route !== undefined && !isHeld,
  },
  restart: {
    key: 'r',
    help: 'build and restart the controller',
    button: 'Restart controller',
    isOffered: ({ hasController }) => hasController,
  },
  page: { key: 'o', help: 'open the page' },
  follow: { key: 'p', isOffered: ({ isFollowing }) => !isFollowing },
  ignore: {
    key: 'p',
    help: 'ignore changed files, or follow them again',
    isOffered: ({ hasController, isFollowing }) => hasController && isFollowing,
  },
  me: {
    key: 'i',
    help: 'let the controller work with your account, and no longer as its ServiceAccount',
    isOffered: ({ account }) => account !== undefined,
  },
  log: { key: 'l', help: "show all of the controller's log, or only its warnings and errors" },
  login: { key: 'g', help: 'log in to the cluster again' },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof ACTIONS;

type WithButton<Name extends ActionName> = Name extends Name
  ? (typeof ACTIONS)[Name] extends { button: string }
    ? Name
    : never
  : never;

/** The actions for which the page has a button. */
export type PageAction = WithButton<ActionName>;

const ROWS = Object.entries(ACTIONS) as [ActionName, Action][];

/** The buttons that change something now. */
export function buttonsIn(state: SessionState | Omit<SessionState, 'last'>): PageAction[] {
  if (state.phase === 'starting' || state.phase === 'ending') return [];
  const offered = ROWS.filter(([name, { isOffered }]) => isPageAction(name) && isOffered?.(state) !== false);
  return offered.map(([name]) => name as PageAction);
}

export function isPageAction(name: string): name is PageAction {
  return Object.hasOwn(ACTIONS, name) && 'button' in ACTIONS[name as ActionName];
}

/**
 * What a key does, given the states of all sessions of the terminal: what is so for any of them, the key undoes in all. Undefined if the
 * key does nothing.
 */
export function actionOf(key: string, all: SessionState[]): ActionName | undefined {
  const rows = ROWS.filter(([, action]) => action.key === key);
  const meant = rows.find(([, { isOffered }]) => all.some((state) => isOffered?.(state) !== false));
  return (meant ?? rows.at(-1))?.[0];
}

/** The list of keys, with those that the terminal itself handles. */
export function keysHelp(): string {
  const lines = ROWS.flatMap(([, { key, help }]) => (help === undefined ? [] : `${key}  ${help}`));
  return ['The keys:', ...lines, 'q  restore everything and exit, as Ctrl-C does'].join('\n');
}
