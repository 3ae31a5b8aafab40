import { clockMs } from '../../report/review-words.ts';
import { duration } from '../../report/text.ts';
import { type Below, type Group, isRequest } from '../groups.ts';
import type { Request } from '../requests-of-clients.ts';
import { Head, Link, TimelineButton, Title } from './parts.tsx';
import { followedUntil } from './request-words.ts';
import { Again, Type } from './row.tsx';
import type { Store } from './store.ts';
import { wordsOf } from './words.ts';

/** A request with all that followed, as far as it is known, on one scale of time. */
export function RequestPane({ id, store }: { id: string; store: Store }) {
  const group = store.groupOf(id);
  const request = group?.head;
  if (group === undefined || request === undefined || !isRequest(request)) {
    return (
      <>
        <Title>{id}</Title>
        <p class="note">It is no longer here.</p>
      </>
    );
  }
  const { by, said } = wordsOf(request);
  return (
    <>
      <Head shown={request}>{said.length > 0 ? `: ${said.join(' · ')}` : ''}</Head>
      <p class="from">
        {by === '' ? 'By nobody who is known' : `By ${by}`}, at{' '}
        <time dateTime={request.at}>{clockMs(request.at)}</time>
      </p>
      <div class="tools">
        <TimelineButton shown={request} store={store} />
      </div>
      <Waterfall group={group} request={request} store={store} />
      <p class="note">
        Reviews of the same object, operation and account that follow each other count as one request, and
        reconciles after its event, after their own writes, or after a failed attempt, as what followed. Links
        between the controller’s calls, their reconcile and their reviews are exact.
      </p>
    </>
  );
}

function Waterfall({ group, request, store }: { group: Group; request: Request; store: Store }) {
  const beganMs = Date.parse(request.at);
  const totalMs = Math.max(1, followedUntil(request) - beganMs);
  return (
    <table class="lines waterfall">
      <thead>
        <tr>
          <th scope="col">Entry</th>
          <th scope="col">What</th>
          <th scope="col">Status</th>
          <th scope="col">After</th>
          <th scope="col">0 to {duration(totalMs)}</th>
        </tr>
      </thead>
      <tbody>
        {group.below.map((below) => (
          <Line key={below.entry.id} below={below} span={[beganMs, totalMs]} store={store} />
        ))}
      </tbody>
    </table>
  );
}

interface LineProps {
  below: Below;
  span: [beganMs: number, totalMs: number];
  store: Store;
}

function Line({ below: { entry, depth, again }, span: [beganMs, totalMs], store }: LineProps) {
  const { name, type, via, status, tone, said, ms } = wordsOf(entry);
  const offsetMs = Math.max(0, Date.parse(entry.at) - beganMs);
  return (
    <tr>
      <td>
        <Link id={entry.id} store={store} />
      </td>
      <td class="text" style={{ paddingLeft: `${depth - 1}rem` }}>
        <Type type={type} /> {via === '' ? name : via}
        {said.length > 0 && <p class={tone === 'bad' ? 'said bad' : 'said'}>{said.join(' · ')}</p>}
      </td>
      <td class={tone}>
        {status}
        {again && <Again of={again} />}
      </td>
      <td class="number">{duration(offsetMs)}</td>
      <td class="span" title={duration(ms)}>
        <span
          class={tone}
          style={{ marginLeft: `${(100 * offsetMs) / totalMs}%`, width: `${(100 * ms) / totalMs}%` }}
        />
      </td>
    </tr>
  );
}
