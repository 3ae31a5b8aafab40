import type { CallRecord, ReconcileRecord } from '../calls/record.ts';
import { callSummary, isCall, reconcileSummary, summaryOf } from '../calls/record.ts';
import { findMarked } from '../cluster/takeover/find-marked.ts';
import type { Work } from '../cluster/work.ts';
import type { ObjectTimeline, PageStatus, TimelineEntry } from '../page/protocol.ts';
import type { PageSession } from '../page/server.ts';
import { plainJson } from '../phrases.ts';
import { buttonsIn } from '../report/actions.ts';
import type { Emit } from '../report/events.ts';
import type { ObjectName } from '../report/object-name.ts';
import type { ReviewSummary } from '../report/review.ts';
import type { SessionPhase } from '../report/session-state.ts';
import type { Recorder } from '../reviews/recorder.ts';
import type { ObservedCalls } from './calls/observed-calls.ts';
import { namespacesOf } from './context/holders.ts';
import { type Facts, healthOf, type SessionFacts } from './context/observed.ts';
import type { PageWarnings } from './context/page-warnings.ts';
import type { Control } from './control/control.ts';
import type { Session } from './start/session.ts';

/** What the page shows and controls. */
export interface PageParts {
  facts: Pick<Facts, 'now'>;
  control: Control;
  recorder: Recorder;
  calls: Pick<ObservedCalls, 'onRecord' | 'written'>;
  warnings: PageWarnings;
}

export function shown(
  session: Session,
  work: Work,
  { facts, control, recorder, calls, warnings }: PageParts,
): PageSession {
  const { directory } = session.files;
  return {
    ...recordedCalls(directory, calls, recorder),
    warnings: () => warnings.list(),
    faults: () => control.faults({}),
    changeFaults: async (change) => void control.faults(change),
    status: () => statusOf(session, control, facts.now),
    async *reviews(after) {
      const { scanSummaries } = await import('../reviews/scan.ts');
      await recorder.written();
      yield* scanSummaries(directory, after);
    },
    waiting: () => recorder.waiting().reviews,
    async review(id) {
      const { findEarlier, findRecord } = await import('../reviews/scan.ts');
      const { detailOf } = await import('../page/detail.ts');
      await recorder.written();
      const record = await findRecord(directory, id);
      return record && detailOf(record, await findEarlier(directory, record));
    },
    replay: (id) => control.replay(id),
    async exported(id, format) {
      const { findRecord } = await import('../reviews/scan.ts');
      const { exported } = await import('./reviews/exported.ts');
      await recorder.written();
      const record = await findRecord(directory, id);
      if (record === undefined) return undefined;
      const warnings: string[] = [];
      const emit: Emit = (event) => void (event.type === 'warning' && warnings.push(event.message));
      const { moved, context } = session;
      const where = { checkout: context.root, moved, emit };
      return { text: await exported({ format }, [record], where), warnings };
    },
    async changes() {
      const { api, sessionId } = work;
      const { plannedRestore } = await import('./end/dry-run.ts');
      const { marked } = await findMarked(api, namespacesOf(session.target), { sessionId });
      return marked.map((one) => ({ object: one.ref, ...plannedRestore(one, sessionId) }));
    },
    async act(action) {
      control[action]();
    },
  };
}

/** What is recorded of the controller's calls and reconciles. */
function recordedCalls(
  directory: string,
  calls: PageParts['calls'],
  reviews: Pick<Recorder, 'written'>,
): Pick<PageSession, 'calls' | 'call' | 'reconcile' | 'exportedCall' | 'timeline'> {
  const find = async (id: string): Promise<CallRecord | ReconcileRecord | undefined> => {
    const { findCall } = await import('../calls/scan.ts');
    await calls.written();
    return await findCall(directory, id);
  };
  return {
    async *calls(after) {
      const { scanCalls } = await import('../calls/scan.ts');
      await calls.written();
      for await (const part of scanCalls(directory, after)) yield part.map(summaryOf);
    },
    async call(id) {
      const found = await find(id);
      if (found === undefined || !isCall(found)) return undefined;
      const { yaml } = await import('../reviews/objects.ts');
      const { objectBefore, objectAfter } = found;
      return {
        call: callSummary(found),
        ...(objectBefore === undefined ? {} : { before: yaml(objectBefore) }),
        ...(objectAfter === undefined ? {} : { after: yaml(objectAfter) }),
      };
    },
    async reconcile(id) {
      const found = await find(id);
      if (found === undefined || isCall(found)) return undefined;
      return { reconcile: reconcileSummary(found), log: found.log ?? [] };
    },
    async exportedCall(id) {
      const found = await find(id);
      if (found === undefined) return undefined;
      return { text: `${plainJson(found)}\n`, warnings: [] };
    },
    async timeline(object) {
      await Promise.all([calls.written(), reviews.written()]);
      return await timelineIn(directory, object);
    },
  };
}

/** More than anybody reads. */
const MOST_ENTRIES = 2_000;

/** Only lines with the name of the object are looked at, so that little is in memory at once. */
async function timelineIn(directory: string, object: ObjectName): Promise<ObjectTimeline> {
  const { scanCalls } = await import('../calls/scan.ts');
  const { scanSummaries } = await import('../reviews/scan.ts');
  const { timelineOf } = await import('../calls/timeline.ts');
  const reviews: ReviewSummary[] = [];
  for await (const part of scanSummaries(directory, ''))
    reviews.push(...part.reviews.filter((one) => one.object?.name === object.name));
  const recorded: (CallRecord | ReconcileRecord)[] = [];
  const name = JSON.stringify(object.name);
  for await (const part of scanCalls(directory, { call: '', reconcile: '' }, (line) => line.includes(name)))
    recorded.push(...part);
  const all = timelineOf(object, { reviews, recorded }) as TimelineEntry[];
  return { entries: all.slice(-MOST_ENTRIES), left: Math.max(0, all.length - MOST_ENTRIES) };
}

function statusOf({ context }: Session, control: Control, facts: SessionFacts): PageStatus {
  const { compiler, compared } = facts;
  const { last: _, ...state } = control.state();
  return {
    state,
    health: healthOf(facts),
    context: context.api.context,
    compiler,
    compared,
    actions: buttonsIn(state),
    canReplay: ANSWERING.has(state.phase) && state.stoppedAt === undefined,
  };
}

/** The phases in which the controller runs, whether it gets reviews from the cluster or not. */
const ANSWERING = new Set<SessionPhase>(['serving', 'building', 'held']);
