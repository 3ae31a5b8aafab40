import { readCalls } from '../calls/read.ts';
import { timelineOf, type Wanted } from '../calls/timeline.ts';
import { notice } from '../report/notices/catalogue.ts';
import { readRecording } from '../reviews/read.ts';
import { summaryOf } from '../reviews/record.ts';
import type { Io } from './context/options.ts';
import { sessionHere } from './context/session-here.ts';

export interface TimelineOptions {
  object: Wanted;
  /** The id of a session on this machine; by default, that of this checkout's session. */
  session?: string;
}

/** What a session on this machine has recorded about one object. Needs no cluster. */
export async function timeline({ object, session }: TimelineOptions, io: Io): Promise<void> {
  const chosen = await sessionHere(io, { wanted: session, allowsCrashed: true });
  const { records } = await readRecording(chosen.directory, 'summaries');
  const reviews = records.map(summaryOf);
  const events = timelineOf(object, { reviews, recorded: await readCalls(chosen.directory) });
  for (const event of events) io.emit(event);
  if (events.length === 0) io.emit(notice('timeline.none', { object, session: chosen.id }));
}
