import type { ReviewTimes } from '../../report/review.ts';
import { duration, limitText } from '../../report/text.ts';
import { share } from './words.ts';

const TICKS_MS = [1, 10, 100, 1_000, 10_000];

/** Where the time of a review went. The scale is logarithmic, so that 2 ms of 10 s can be seen. */
export function Timing({ ms }: { ms: ReviewTimes }) {
  const rows: [name: string, value: number][] = [
    ['Waited in devloop', ms.held],
    ['Answered by the controller', ms.controller],
    ['In total', ms.total],
    ['Timeout of the caller', ms.budget],
  ];
  return (
    <table class="timing">
      <caption>Where the time went (logarithmic scale)</caption>
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{duration(value)}</td>
            <td class="scale">
              <meter aria-label={name} max={1} value={share(value, ms.budget)} title={duration(value)} />
            </td>
          </tr>
        ))}
        <tr>
          <td colSpan={2} />
          <td class="scale ticks">
            {TICKS_MS.filter((tick) => tick <= ms.budget).map((tick) => (
              <span key={tick} style={{ left: `${100 * share(tick, ms.budget)}%` }}>
                {limitText(tick)}
              </span>
            ))}
          </td>
        </tr>
      </tbody>
    </table>
  );
}
