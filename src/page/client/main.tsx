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
      onStatus: (status) => store.set('status', status),
      onReviews: (reviews) => store.add(reviews),
      onLate: (late) => store.addLate(late),
      onWaiting: (waiting) => store.set('waiting', waiting),
      onConnection: (state) => store.connect(state),
    }),
  (error: unknown) => {
    if (!(error instanceof Refused)) throw error;
    store.connect('refused');
  },
);
