import { render } from 'preact';
import { followSession, logIn, Refused } from './api.ts';
import { App } from './app.tsx';
import { Store } from './store.ts';

const store = new Store();
// If another link is opened in the same tab, only the fragment of its address changes, so the browser does not load the page again.
addEventListener('hashchange', () => location.hash !== '' && location.reload());
render(<App store={store} />, document.body);
await logIn().then(
  () =>
    followSession({
      status: (status) => store.set('status', status),
      reviews: (reviews) => store.add(reviews),
      late: (late) => store.addLate(late),
      waiting: (waiting) => store.set('waiting', waiting),
      calls: (recorded) => store.addCalls(recorded),
      warnings: (warnings) => store.set('warnings', warnings),
      faults: (faults) => store.set('faults', faults),
      connection: (state) => store.connect(state),
    }),
  (error: unknown) => {
    if (!(error instanceof Refused)) throw error;
    store.connect('refused');
  },
);
