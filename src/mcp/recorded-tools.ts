import * as z from 'zod';
import { LISTED_VERDICTS } from '../report/review.ts';
import type { ReviewsOptions } from '../session/context/options.ts';
import {
  CHANGES,
  flag,
  ids,
  namespace,
  READS,
  RUNS_CODE,
  session,
  since,
  sinceTime,
  type Tool,
  text,
  tool,
} from './tool.ts';

const NARROW = 'Ask again for fewer, with since, kind, name or namespace, or show one by its id.';
const ONE = 'Ask for one id at a time. The whole record: devloop reviews export ID > FILE, in a shell.';
const ONE_CALL =
  'Ask for one id at a time. The whole record: devloop calls (or reconciles) export ID > FILE, in a shell.';
const ABOUT = {
  kind: text('kind of the object, such as Deployment'),
  name: text("a part of the object's name"),
  namespace,
  since,
};
const CALL_FILTER = {
  ...ABOUT,
  writes: flag('only those that wrote something'),
  failed: flag('only those that failed'),
};
const set = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,99}$/)
  .describe('name of a set in testdata/reviews, instead of a session');

const REVIEW_FILTER = {
  ...ABOUT,
  verdict: z.enum(LISTED_VERDICTS).optional(),
  user: text('a part of the name of the user'),
  webhook: text('a part of the name of the webhook'),
};

const LIST: ReviewsOptions = {
  ...{ action: 'list', ids: [], format: 'review', filter: {} },
  ...{ follow: false, sideEffects: false, update: false, allow: [] },
};

const WORDS = {
  calls: {
    what: 'what the controller asked of the API server: verb, object, result',
    when: 'Use it to find what was written or refused.',
    shown: 'what they changed, as a diff, and the reviews that they caused',
    filter: {
      ...CALL_FILTER,
      verb: z.enum(['get', 'list', 'watch', 'create', 'update', 'patch', 'apply', 'delete']).optional(),
      reconcile: text("controller-runtime's ID of a reconcile, or its beginning"),
    },
  },
  reconciles: {
    what: 'what the controller did, reconcile by reconcile: object, causes, writes, result, error',
    when: 'Use it to find what the reconciler did after an object has changed, and which reconciles failed.',
    shown: 'after which events they ran, their calls, their log lines and the reviews that they caused',
    filter: { ...CALL_FILTER, controller: text('a part of the name of the controller') },
  },
};

/** What the commands read of the recording of a session. */
export const RECORDED_TOOLS: Tool[] = [
  tool({
    name: 'reviews_list',
    title: 'List reviews',
    description:
      'Lists the webhook reviews of a session, oldest first: object, verdict, message, time. Use it after you have applied an object, or to find why a request was denied or changed.',
    input: { ...REVIEW_FILTER, session, set: set.optional() },
    ...{ annotations: READS, command: 'reviews', keeps: 'last', ask: NARROW },
    async run({ session, set, since, ...filter }, io) {
      const { reviews } = await import('../session/reviews.ts');
      await reviews({ ...LIST, filter: { ...filter, ...sinceTime(since) }, session, set }, io);
    },
  }),
  tool({
    name: 'reviews_show',
    title: 'Show reviews',
    description:
      'Shows reviews by their ids: the object, what the client and the webhook changed, the answer, and the call of the controller that caused it.',
    input: { ids, session, set: set.optional() },
    ...{ annotations: READS, command: 'reviews', keeps: 'first', ask: ONE },
    async run({ ids, session, set }, io) {
      const { reviews } = await import('../session/reviews.ts');
      await reviews({ ...LIST, action: 'show', ids, session, set }, io);
    },
  }),
  tool({
    name: 'reviews_replay',
    title: 'Replay reviews',
    description:
      'Sends recorded reviews to the running controller again, as dry runs, and shows which answers differ from those recorded. Use it after an edit, to see what the new code answers to the same requests.',
    input: { ids: ids.optional(), ...REVIEW_FILTER, session, set: set.optional() },
    ...{ annotations: CHANGES, command: 'reviews', keeps: 'last', ask: NARROW },
    async run({ ids = [], session, set, since, ...filter }, io) {
      const { reviews } = await import('../session/reviews.ts');
      const which = { ids, filter: { ...filter, ...sinceTime(since) } };
      await reviews({ ...LIST, action: 'replay', ...which, session, set }, io);
    },
  }),
  tool({
    name: 'reviews_verify',
    title: 'Verify a saved set',
    description:
      'Builds the manager of the checkout, starts it without a cluster, sends it a set of reviews that was saved in testdata/reviews, and checks that it answers as before: runs code of this checkout, and the commands of its devloop.yaml. Without a name, lists the sets. Works without a session, and not beside one that uses the same port.',
    input: { set: set.optional() },
    ...{
      annotations: RUNS_CODE,
      command: 'reviews',
      keeps: 'last',
      ask: 'Show the reviews that differ with reviews_show.',
    },
    async run({ set }, io) {
      const { reviews } = await import('../session/reviews.ts');
      await reviews({ ...LIST, action: 'verify', ids: set === undefined ? [] : [set], set }, io);
    },
  }),
  ...(['calls', 'reconciles'] as const).flatMap(toolsOf),
  tool({
    name: 'timeline',
    title: 'Timeline of an object',
    description:
      'Lists what a session has recorded about one object, oldest first: its reviews, its reconciles and their log lines, the calls of the controller for it, and what others changed in it. Use it to understand how an object came to be as it is.',
    input: {
      kind: z.string().min(1).max(253).describe('kind or plural'),
      name: z.string().min(1).max(253),
      namespace,
      session,
    },
    ...{
      annotations: READS,
      command: 'timeline',
      keeps: 'last',
      ask: 'Ask for reviews_list, reconciles_list or calls_list with since.',
    },
    async run({ session, ...object }, io) {
      const { timeline } = await import('../session/timeline.ts');
      await timeline({ object, session }, io);
    },
  }),
  tool({
    name: 'rbac',
    title: 'Compare calls with RBAC rules',
    description:
      "Compares all calls of a session's controller with the roles of its ServiceAccount, in the cluster and in the checkout: which rules are missing, with the line to add, and which were not used. Use it after a call was refused with 403, and before you change roles.",
    input: { session },
    ...{ annotations: READS, command: 'rbac', keeps: 'first', ask: 'All of it: devloop rbac, in a shell.' },
    async run({ session }, io) {
      const { rbac } = await import('../session/rbac.ts');
      await rbac({ session }, io);
    },
  }),
];

function toolsOf(what: 'calls' | 'reconciles'): Tool[] {
  const { what: about, when, shown, filter } = WORDS[what];
  const rest = { what, follow: false };
  return [
    tool({
      name: `${what}_list`,
      title: `List ${what}`,
      description: `Lists ${about}; oldest first. ${when}`,
      input: { ...filter, session },
      ...{ annotations: READS, command: what, keeps: 'last', ask: NARROW },
      async run({ session, since, ...filter }, io) {
        const { calls } = await import('../session/calls.ts');
        const wanted = { ...filter, ...sinceTime(since) };
        await calls({ ...rest, action: 'list', ids: [], filter: wanted, session }, io);
      },
    }),
    tool({
      name: `${what}_show`,
      title: `Show ${what}`,
      description: `Shows ${what} by their ids: ${shown}.`,
      input: { ids, session },
      ...{ annotations: READS, command: what, keeps: 'first', ask: ONE_CALL },
      async run({ ids, session }, io) {
        const { calls } = await import('../session/calls.ts');
        await calls({ ...rest, action: 'show', ids, filter: {}, session }, io);
      },
    }),
  ];
}
