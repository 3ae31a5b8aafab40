import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import type { ReviewSummary } from '../../report/review.ts';
import { changesIn, clock, lateWords, prunedWords, subject } from '../../report/review-words.ts';
import { duration } from '../../report/text.ts';
import type { ExportFormat, ReviewDetail, ReviewPart } from '../protocol.ts';
import { exportReview, hasKey, readReview } from './api.ts';
import { Replay } from './replay.tsx';
import { SideBySide } from './side-by-side.tsx';
import type { Store } from './store.ts';

/** One review: first the verdict and its reason, and then its parts. */
export function Detail({ id, store }: { id: string; store: Store }) {
  const [detail, setDetail] = useState<ReviewDetail>();
  const [problem, setProblem] = useState<string>();
  const listed = store.reviews.find((one) => one.id === id);
  const late = listed?.late !== undefined;
  // A late answer may arrive while the review is open.
  useEffect(() => {
    readReview(id).then(setDetail, (error: Error) => setProblem(error.message));
  }, [id, late]);
  const review = detail?.review ?? listed;
  const close = (): void => {
    const list = document.querySelector<HTMLElement>('[role=listbox]');
    store.select(undefined);
    if (list?.scrollTop === 0) store.pause(false);
    list?.focus();
  };
  return (
    <section
      id="detail"
      class="detail"
      aria-labelledby="detail-title"
      tabIndex={-1}
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      <button type="button" class="close" onClick={close}>
        Close
      </button>
      <h2 id="detail-title">{review ? subject(review) : `Review ${id}`}</h2>
      {review && <Facts review={review} />}
      {problem !== undefined && <p class="note">{problem}</p>}
      {detail?.notKept !== undefined && <p class="note">{detail.notKept}</p>}
      {detail !== undefined && detail.redacted > 0 && (
        <p class="note">Replaced, because it looks secret: {counted(detail.redacted, 'value')}.</p>
      )}
      {detail && detail.notKept === undefined && (
        <div class="tools">
          <Exports id={id} />
          {store.status?.canReplay && hasKey() && <Replay id={id} />}
        </div>
      )}
      {detail && <Parts detail={detail} />}
    </section>
  );
}

function Facts({ review }: { review: ReviewSummary }) {
  const {
    id,
    at,
    verdict,
    code,
    message,
    webhook,
    user,
    patch = [],
    warnings = [],
    build,
    isOldBuild,
    late,
  } = review;
  return (
    <>
      <p class={`answer ${verdict}`}>
        <b class="verdict">{verdict}</b>
        {code !== undefined && verdict !== 'allowed' ? ` (${code})` : ''}
        {message !== undefined ? `: ${message}` : ''}
      </p>
      {late && <p class="late">Later, {lateWords(late)}</p>}
      {patch.length > 0 && <p class="patch">The webhook changed {changesIn(review, patch.length)}</p>}
      {review.pruned && <p class="note">{prunedWords(review)}.</p>}
      {warnings.map((warning) => (
        <p key={warning} class="note">
          Warning: {warning}
        </p>
      ))}
      <p class="from">
        {id} at <time dateTime={at}>{clock(at)}</time>, webhook {webhook}
        {user === undefined ? '' : `, by ${user}`}
        {build === undefined ? '' : `, answered by build ${build}`}
      </p>
      {isOldBuild && <p class="old">The old build answered: newer sources did not build or start.</p>}
    </>
  );
}

const TITLES: Record<ReviewPart['name'], string> = {
  request: 'Request',
  object: 'Object',
  patch: 'Patch',
  response: 'Response',
  late: 'Late answer',
};

/** The part that is shown first: what the webhook changed, or else what was asked, or else the answer. */
const FIRST: ReviewPart['name'][] = ['patch', 'object', 'response'];

function Parts({ detail: { review, parts } }: { detail: ReviewDetail }) {
  const names = [...parts.map(({ name }) => name), 'timing' as const];
  const [shown, show] = useState<(typeof names)[number]>(
    FIRST.find((name) => parts.some((part) => part.name === name)) ?? 'timing',
  );
  const tabs = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const to = (names.indexOf(shown) + step + names.length) % names.length;
    show(names[to]!);
    tabs.current?.querySelectorAll<HTMLElement>('[role=tab]')[to]?.focus();
  };
  const part = parts.find(({ name }) => name === shown);
  return (
    <>
      <div ref={tabs} role="tablist" aria-label="Parts of the review" onKeyDown={move}>
        {names.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={name === shown}
            aria-controls="part"
            tabIndex={name === shown ? 0 : -1}
            onClick={() => show(name)}
          >
            {name === 'timing' ? 'Timing' : TITLES[name]}
          </button>
        ))}
      </div>
      <div id="part" role="tabpanel" aria-labelledby={`tab-${shown}`}>
        {part ? (
          <Part key={shown} part={part} isConversion={review.kind === 'conversion'} />
        ) : (
          <Timing review={review} />
        )}
      </div>
    </>
  );
}

function Part({
  part: { name, before, text, note },
  isConversion,
}: {
  part: ReviewPart;
  isConversion: boolean;
}) {
  const titles: [string, string] =
    name === 'patch' ? ['Before the webhook', 'After the webhook'] : ['Old object', 'New object'];
  return (
    <>
      {note !== undefined && <p class="note">{note}</p>}
      {before === undefined ? (
        <pre>{text}</pre>
      ) : (
        <SideBySide before={before} after={text} titles={isConversion ? ['Before', 'Converted'] : titles} />
      )}
    </>
  );
}

function Timing({ review: { ms } }: { review: ReviewSummary }) {
  const rows: [string, number][] = [
    ['Held by devloop', ms.held],
    ['Answered by the controller', ms.controller],
    ['In total', ms.total],
    ['Allowed by the caller', ms.budget],
  ];
  return (
    <table class="timing">
      <caption class="hidden">Where the time went</caption>
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{duration(value)}</td>
            <td>
              <meter aria-label={name} max={ms.budget} value={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const LABELS: [ExportFormat, string][] = [
  ['curl', 'Copy as curl'],
  ['go', 'Copy as Go test'],
];

/** Copies the review to the clipboard, in a form that can be used without devloop. */
function Exports({ id }: { id: string }) {
  const [said, say] = useState('');
  const copy = async (format: ExportFormat): Promise<void> => {
    try {
      const { text, warnings } = await exportReview(id, format);
      await navigator.clipboard.writeText(text);
      say(['Copied.', ...warnings].join(' '));
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <div class="exports">
      {LABELS.map(([format, label]) => (
        <button key={format} type="button" onClick={() => void copy(format)}>
          {label}
        </button>
      ))}
      <span role="status">{said}</span>
    </div>
  );
}
