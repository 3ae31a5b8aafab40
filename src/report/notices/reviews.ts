import { counted, shellWord } from '../../phrases.ts';
import { note, warning } from './notice.ts';

/** Recorded reviews and saved sets. `source`: `Session` with its id, or the file of a saved set. */
export const REVIEWS = {
  /** More reviews arrive than devloop can record. `reviews`: how many it has left out until now; it is said again after ten minutes. */
  'reviews.not-listed': warning<{ reviews: number }>(
    ({ reviews }) =>
      `devloop could not list ${counted(reviews, 'review')} until now, because more arrive than it can record.`,
  ),
  /** The recording of reviews cannot be written, so `devloop reviews` lacks those that follow. */
  'reviews.not-recorded': warning<{ cause: string }>(
    ({ cause }) => `Reviews are listed, but no longer recorded: ${cause}`,
  ),
  /** The recording has lines that another version of devloop wrote. */
  'reviews.unread': warning<{ source: string; lines: number }>(
    ({ source, lines }) =>
      `${source} has ${counted(lines, 'line')} that this version of devloop cannot read.`,
  ),
  /** The reviews are those of a session that has crashed, so `devloop down` removes them. */
  'reviews.of-crashed': warning<{ session: string }>(
    ({ session }) =>
      `Session ${session} has crashed. devloop down restores the cluster and removes these reviews; devloop reviews save NAME keeps them.`,
  ),
  /** A filter selects none of the `reviews`, or there are none. `meant`: similar names, by the flag that selects by them. */
  'reviews.none': note<{ source: string; reviews: number; meant: Meant[] }>(({ source, reviews, meant }) =>
    reviews === 0
      ? `${source} has no reviews yet.`
      : [
          `${source} has ${counted(reviews, 'review')}, and none of them matches.`,
          ...meant.map(meantText),
        ].join(' '),
  ),
  /** The session whose reviews, calls or reconciles are followed has ended. */
  'reviews.ended': note<{ source: string }>(({ source }) => `${source} has ended.`),
  /** Reviews were saved as a set. */
  'reviews.saved': note<{ reviews: number; file: string }>(
    ({ reviews, file }) => `Saved ${counted(reviews, 'review')} to ${file}.`,
  ),
  /** Some of the saved reviews were answered by an older build than the others. */
  'reviews.of-older-build': warning<{ set: string; reviews: number }>(
    ({ reviews }) =>
      `${counted(reviews, 'review')} of the set ${reviews === 1 ? 'was' : 'were'} answered by an older build. The newest build may answer differently.`,
    ({ set }) =>
      `To record the answers of the current code instead: devloop reviews verify ${shellWord(set)} --update`,
  ),
  /** The new answers of a set were saved. */
  'reviews.updated': note<{ answers: number; file: string }>(
    ({ answers, file }) => `Saved ${counted(answers, 'new answer')} to ${file}.`,
  ),
  /** No answer has changed, so the set stays as it is. */
  'reviews.unchanged': note<{ file: string }>(
    ({ file }) => `No answer has changed, so ${file} stays as it is.`,
  ),
  /** The new answer to a review is not saved in the set. */
  'reviews.not-updated': warning<{ review: string; cause: string }>(
    ({ review, cause }) => `Review ${review} is not updated: ${cause}.`,
  ),
  /** Secret values are replaced in an exported review. */
  'reviews.redacted': warning<{ review: string }>(
    ({ review }) => `Values that look secret are replaced in review ${review}.`,
  ),
  /** The exported test has a line to fill in, because nothing was found that registers the webhooks. */
  'reviews.fill-in': warning(
    () =>
      'No function that registers these webhooks was found beside a kubebuilder marker with their path: fill in the line with TODO.',
  ),
  /** After a restart, reviews could not be replayed. */
  'reviews.not-replayed': warning<{ cause: string }>(
    ({ cause }) => `The reviews cannot be replayed: ${cause}`,
  ),
};

interface Meant {
  /** `kind` */
  flag: string;
  names: string[];
}

function meantText({ flag, names }: Meant): string {
  return `Did you mean ${names.length === 1 ? '' : 'one of '}${names.join(', ')} for --${flag}?`;
}
