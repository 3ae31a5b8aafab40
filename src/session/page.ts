import type { Work } from '../cluster/work.ts';
import { messageOf } from '../errors.ts';
import { hasDesktop, openBrowser, tunnelTo } from '../machine/browser.ts';
import { builtFile } from '../machine/own-program.ts';
import type { PageServer } from '../page/server.ts';
import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { type PageParts, shown } from './page-session.ts';
import type { Session } from './start/session.ts';

/** The page of a session. It is loaded and served only when somebody opens it. */
export interface SessionPage extends AsyncDisposable {
  /** Called with each event of the session. */
  observe(event: DevloopEvent): void;
  /** Serves the page, opens it in the user's browser if there is one, and reports its address. */
  open(): Promise<void>;
}

export function createPage(session: Session, work: Work, parts: PageParts): SessionPage {
  const { io } = session;
  let serving: Promise<PageServer> | undefined;
  let server: PageServer | undefined;
  parts.calls.onRecord((recorded) => server?.called(recorded));
  const serve = async (): Promise<PageServer> => {
    const { startPageServer } = await import('../page/server.ts');
    const shownNow = shown(session, work, parts);
    server = await startPageServer(shownNow, (file) => builtFile(`page/${file}`));
    return server;
  };
  const cannotServe = (error: unknown): undefined => {
    // The next key press tries again.
    serving = undefined;
    work.emit(notice('page.not-served', { cause: messageOf(error) }));
  };
  return {
    observe(event) {
      if (event.type === 'review') server?.reviewed(event);
      if (event.type === 'review.late') server?.answeredLate({ id: event.id, late: event.late });
    },
    async open() {
      serving ??= serve();
      const served = await serving.catch(cannotServe);
      if (served === undefined) return;
      const { url, urlOnce } = served;
      const opened = hasDesktop(io.env) && (await openBrowser(urlOnce(), io.env));
      const tunnel = opened ? undefined : tunnelTo(new URL(url).port, io.env);
      work.emit({ type: 'page.served', url, opened, ...(tunnel ? { tunnel } : {}) });
    },
    async [Symbol.asyncDispose]() {
      await serving?.catch(() => undefined);
      await server?.[Symbol.asyncDispose]();
    },
  };
}
