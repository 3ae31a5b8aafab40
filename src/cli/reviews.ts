import { Command, Option } from 'commander';
import { JSON_PATH, NAMESPACE } from '../config/forms.ts';
import { messageOf } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import { LISTED_VERDICTS } from '../report/review.ts';
import type { ExportFormat, ReviewsOptions } from '../session/context/options.ts';
import { didYouMean } from '../similar.ts';
import { addExamples, outputOptions, present } from './common.ts';
import { PLAIN_LIST, runReviews } from './run-reviews.ts';
import type { Shell } from './shell.ts';
import { invalid } from './usage.ts';
import { collectForms, parseAge, parseForm, parseMilliseconds, parseSetName } from './values.ts';

/** `since` is an age here, in ms. */
interface ReviewsFlags extends Omit<ReviewsOptions['filter'], 'slowMs'> {
  session?: string;
  set?: string;
  follow?: true;
  sideEffects?: true;
  update?: true;
  allow?: string[];
  apiServer?: string;
  output?: ExportFormat;
  slow?: number;
  json?: true;
}

export const REVIEWS_ACTIONS = ['list', 'show', 'export', 'save', 'replay', 'verify'] as const;
type Action = (typeof REVIEWS_ACTIONS)[number];
const FORMATS: ExportFormat[] = ['review', 'curl', 'go'];

export function reviewsCommand(shell: Shell): Command {
  const command = new Command('reviews')
    .summary('show the reviews of a session: object, patch, answer, times')
    .description(
      'Lists the reviews of a running session on this machine, shows one with its objects as diffs, exports its request, or saves reviews as a set in testdata/reviews of the checkout. Values that look secret are replaced before they are stored.',
    )
    .argument(
      '[what...]',
      'list (default), show ID..., export ID..., save NAME [ID...], replay [ID...], or verify NAME',
    )
    .option('-f, --follow', 'keep running, and list each new review')
    .option(
      '--session <id>',
      'session on this machine (default: the session of this checkout, or the only session)',
    )
    .option('--set <name>', 'use a saved set instead of a session', parseSetName)
    .addOption(
      new Option(
        '-o, --output <format>',
        'what `export` prints: the review as JSON, a curl command, or a Go test (default: review)',
      ).choices(FORMATS),
    );
  addFilters(addSetOptions(command)).action(async (what: string[], flags: ReviewsFlags) => {
    await runReviews(optionsOf(what, flags, shell.name), outputOptions(flags), shell);
  });
  return addExamples(command, `${shell.name} reviews`, [
    ['--verdict denied --since 10m', 'List what was denied in the last ten minutes'],
    ['show 41', 'Show review r-000041: its object, what the client and the webhook changed, and the answer'],
    ['export 41 > review.json', 'Write its AdmissionReview to a file'],
    ['export 41 -o curl | sh', 'Send it to the controller again, as a dry run'],
    ['export 41 42 -o go', "Print a test that expects the same answers, for the operator's own suite"],
    ['save create-web 41 42', 'Save two reviews in testdata/reviews/create-web.ndjson'],
    ['replay --set create-web', 'Send a saved set to the running controller, and show which answers differ'],
    [
      'verify create-web',
      'Build the manager, start it without a cluster, and check that it answers the set as before',
    ],
    ['verify create-web --update', 'The same, and save the answers that have changed'],
  ]);
}

function addSetOptions(command: Command): Command {
  return command
    .option(
      '--update',
      'replace a set of the same name (`save`), or show the changed answers and save them (`verify`)',
    )
    .option(
      '--allow <jsonpath>',
      'save what is at this place of a review although it may be a secret (repeatable)',
      collectForms(JSON_PATH),
    )
    .option('--side-effects', 'also replay reviews of webhooks that declare side effects')
    .option(
      '--api-server <kubeconfig>',
      'kubeconfig of a test cluster for `verify`; the manager reconciles the objects there (default: no API server, or that of envtest if the manager needs one)',
    );
}

function addFilters(command: Command): Command {
  return command
    .optionsGroup('Which reviews:')
    .option('--kind <kind>', 'of objects of this kind')
    .option('--name <text>', 'of objects with this in their name')
    .option('-n, --namespace <name>', 'of objects in this namespace', parseForm(NAMESPACE))
    .addOption(
      new Option('--verdict <verdict>', 'with this verdict (waiting: no verdict yet)').choices(
        LISTED_VERDICTS,
      ),
    )
    .option('--user <text>', 'requested by users with this in their name')
    .option('--webhook <text>', 'sent to webhooks with this in their name')
    .option('--since <duration>', 'from the last 30s, 10m or 2h', parseAge)
    .option('--slow <ms>', 'that took at least this many milliseconds', parseMilliseconds)
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help');
}

function optionsOf([action = 'list', ...ids]: string[], flags: ReviewsFlags, name: string): ReviewsOptions {
  const known = REVIEWS_ACTIONS.find((one) => one === action);
  if (known === undefined)
    throw invalid(
      `Unknown action \`${action}\`: expected ${REVIEWS_ACTIONS.join(', ')}.`,
      didYouMean(action, REVIEWS_ACTIONS) ?? `${name} reviews --help`,
    );
  requireIds(known, ids, name);
  requireFitting(known, flags, `${name} reviews`);
  const { session, follow, sideEffects, update, allow, apiServer, output: format } = flags;
  const set = known === 'verify' ? ids[0] : flags.set;
  return {
    ...PLAIN_LIST,
    ...{ action: known, ids, filter: filterOf(flags) },
    ...present({ format, follow, sideEffects, update, allow, apiServer, session, set }),
  };
}

/** The actions whose first argument is the name of a set. */
const NAMED: Action[] = ['save', 'verify'];

function requireIds(action: Action, ids: string[], name: string): void {
  const [first] = ids;
  const isNamed = NAMED.includes(action);
  if (action === 'list' && first !== undefined)
    throw invalid('`list` takes no ids.', `${name} reviews show ${first}`);
  // Without a name, `verify` lists the saved sets.
  if (!['list', 'replay', 'verify'].includes(action) && first === undefined)
    throw invalid(
      `\`${action}\` needs ${isNamed ? 'the name of a set' : 'an id'}.`,
      `${name} reviews ${isNamed ? 'save create-web' : 'list'}`,
    );
  if (action === 'verify' && ids.length > 1)
    throw invalid('`verify` takes one name.', `${name} reviews verify ${first}`);
  if (isNamed && first !== undefined) requireSetName(first, `${name} reviews ${action} create-web`);
}

function requireSetName(text: string, hint: string): void {
  try {
    parseSetName(text);
  } catch (error) {
    throw invalid(`\`${text}\` cannot be the name of a set. ${messageOf(error)}`, hint, error);
  }
}

function requireFitting(
  action: Action,
  { json, output, update, allow, apiServer, follow, verdict }: ReviewsFlags,
  reviews: string,
): void {
  if (action === 'export' && json)
    throw invalid('`export` prints the review itself, so it takes no --json.', `${reviews} export 41`);
  if (action !== 'export' && output !== undefined)
    throw invalid('-o works only with `export`.', `${reviews} export 41 -o ${output}`);
  if (follow && verdict === 'waiting')
    throw invalid(
      '--follow lists each review when it is answered, so it cannot list waiting ones.',
      `${reviews} --verdict waiting`,
    );
  if (action !== 'verify' && apiServer !== undefined)
    throw invalid(
      '--api-server works only with `verify`.',
      `${reviews} verify NAME --api-server ${shellWord(apiServer)}`,
    );
  if (!NAMED.includes(action) && update)
    throw invalid('--update works only with `save` and `verify`.', `${reviews} save NAME --update`);
  if (allow !== undefined && action !== 'save' && !(action === 'verify' && update))
    throw invalid(
      '--allow works only with `save` and with `verify --update`.',
      `${reviews} save NAME --allow .user`,
    );
}

function filterOf({ kind, name, namespace, verdict, user, webhook, since, slow }: ReviewsFlags) {
  return present({
    kind,
    name,
    namespace,
    verdict,
    user,
    webhook,
    since: since && Date.now() - since,
    slowMs: slow,
  });
}
