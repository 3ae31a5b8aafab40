import type { ClusterApi } from '../../cluster/api/client.ts';
import type { ActionName } from '../../report/actions.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { Control } from './control.ts';
import type { ControllerLog } from './controller-log.ts';

/** The parts of a running session that the actions of the terminal, the page and other terminals change. */
export interface ActionParts {
  api: Pick<ClusterApi, 'logIn'>;
  /** From now on, the controller works as the user. */
  identity: { asUser(): void };
  control: Control;
  log: ControllerLog;
  emit: Emit;
  openPage(): Promise<void>;
}

/** What each action does; the names and keys are in report/actions.ts. Throws 'session.not-ready'. Returns how many reviews had waited. */
export type Actions = { [Name in Exclude<ActionName, 'release'>]: () => unknown } & { release(): number };

export function actionsOf({ api, identity, control, log, emit, openPage }: ActionParts): Actions {
  return {
    restart: () => control.restart(),
    release: () => control.release(),
    hold: () => control.hold(),
    page: () => openPage(),
    follow: () => control.followFiles(true),
    ignore: () => control.followFiles(false),
    me: () => identity.asUser(),
    log: () => emit(notice('controller.log-toggled', { shows: log.toggle() })),
    async login() {
      await api.logIn();
      emit(notice('session.logged-in', {}));
    },
  };
}
