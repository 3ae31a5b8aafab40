import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AGAIN } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import type { ReviewsOptions } from '../../../src/session/context/options.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { updateSet } from '../../../src/session/reviews/saved-set.ts';
import { reviews } from '../../../src/session/reviews.ts';
import { NO_CLUSTER } from '../../../src/session/verify/no-cluster.ts';
import { eventually } from '../../support/eventually.ts';
import { reviewOf } from '../../support/session-facts.ts';

let checkout: string;
let sets: string;

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'reviews-'));
  sets = join(checkout, 'testdata/reviews');
  await mkdir(join(checkout, '.git'));
  await mkdir(sets, { recursive: true });
  await writeFile(join(sets, 'old.ndjson'), [1, 2, 3].map((number) => `${text(number)}\n`).join(''));
});
afterEach(() => rm(checkout, { recursive: true }));

const record = (number: number, more: Partial<ReviewRecord> = {}): ReviewRecord => ({
  ...{ v: 1, ...reviewOf(number), build: 'one', request: { request: {} } },
  ...{ response: { response: { allowed: true } }, ...more },
});
const text = (number: number): string => JSON.stringify(record(number));
const read = (name: string): Promise<string> => readFile(join(sets, `${name}.ndjson`), 'utf8');

async function run(
  action: ReviewsOptions['action'],
  ids: string[],
  more: Partial<ReviewsOptions> = {},
  events: DevloopEvent[] = [],
): Promise<DevloopEvent[]> {
  const options = { action, ids, format: 'review', follow: false, sideEffects: false, filter: {} } as const;
  const io = { emit: (event: DevloopEvent) => void events.push(event), env: {}, cwd: checkout };
  const signal = new AbortController().signal;
  const of = action === 'verify' ? {} : { set: 'old' };
  await reviews(
    { ...options, update: false, allow: [], ...of, ...more },
    { ...io, signal, onCluster: () => {} },
  );
  return events;
}

it('warns of a set whose answers come from more than one build', async () => {
  const records = ['one', 'one', 'two', undefined].map((build, index) => {
    const { build: _, ...rest } = record(index + 1);
    return { ...rest, ...(build === undefined ? {} : { build }) };
  });
  await writeFile(join(sets, 'old.ndjson'), records.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const warned = (events: DevloopEvent[]): unknown[] => events.filter(({ type }) => type === 'warning');
  expect(warned(await run('save', ['both']))).toMatchObject([
    {
      code: 'reviews.of-older-build',
      values: { set: 'both', reviews: 2 },
      hint: expect.stringContaining('devloop reviews verify both --update'),
    },
  ]);
  expect(warned(await run('save', ['newest', '3', '4']))).toEqual([]);
});

it('saves a set under a name that is free, and replaces one only when it is asked to', async () => {
  await run('save', ['new', '1', '2']);
  expect((await read('new')).trim().split('\n')).toHaveLength(2);
  const before = await read('new');
  // The command as it was typed, since `save new --update` would save other reviews than these.
  const hint = `To replace it: ${AGAIN} --update`;
  await expect(run('save', ['new', '3'])).rejects.toMatchObject({ code: 'review.exists', hint });
  expect(await read('new')).toBe(before);
  await run('save', ['new', '3'], { update: true });
  expect(await read('new')).toContain('r-000003');
  expect((await readdir(sets)).sort()).toEqual(['new.ndjson', 'old.ndjson']);
});

it('tells whoever gives the name of a set instead of an id how to replay it', async () => {
  const hintFor = (id: string): Promise<unknown> => run('replay', [id]).catch((error) => error.hint);
  expect(await hintFor('old')).toMatch(/devloop reviews replay --set old$/);
  expect(await hintFor('nothing')).toBe('devloop reviews list');
});

it('names the saved sets that may have been meant', async () => {
  const hintFor = (action: ReviewsOptions['action'], set: string): Promise<unknown> =>
    run(action, [], { set }).catch((error) => error.hint);
  expect(await hintFor('verify', 'odl')).toMatch(/^devloop reviews verify old$/);
  expect(await hintFor('list', 'olds')).toMatch(/^devloop reviews list --set old$/);
  expect(await hintFor('verify', 'webhooks')).toMatch(/save NAME$/);
});

it('lists the saved sets where it gets no name of one, and still fails', async () => {
  await run('save', ['create-web', '1', '2']);
  await writeFile(join(sets, '-x.ndjson'), '');
  const events: DevloopEvent[] = [];
  const failure = { code: 'usage.invalid', hint: 'devloop reviews verify create-web' };
  await expect(run('verify', [], {}, events)).rejects.toMatchObject(failure);
  const set = (name: string, reviews: number) => ({
    ...{ type: 'reviews.set', name, reviews, file: join(sets, `${name}.ndjson`) },
  });
  expect(events).toEqual([set('create-web', 2), set('old', 3)]);
  await rm(sets, { recursive: true });
  const none = { code: 'usage.invalid', hint: expect.stringContaining('devloop reviews save') };
  await expect(run('verify', [])).rejects.toMatchObject(none);
});

it('a set without a review that can be read is named, and how to get it back', async () => {
  await writeFile(join(sets, 'old.ndjson'), '{broken\n');
  const verifying = run('verify', [], { set: 'old' });
  await expect(verifying).rejects.toMatchObject({
    ...{ code: 'review.not-found', message: expect.stringContaining('saved set old') },
    hint: expect.stringContaining('devloop reviews save old --update'),
  });
});

it('reads the last line of a set without its end, and warns of one that is cut', async () => {
  await appendFile(join(sets, 'old.ndjson'), text(4));
  expect(
    (await run('list', [])).map((event) => 'review' in event && 'id' in event.review && event.review.id),
  ).toEqual(['r-000001', 'r-000002', 'r-000003', 'r-000004']);
  await appendFile(join(sets, 'old.ndjson'), `\n${text(5).slice(0, -9)}`);
  expect(await run('list', [])).toMatchObject([{ type: 'warning' }, {}, {}, {}, {}]);
});

function updating(events: DevloopEvent[] = []) {
  const records = [record(1), record(2)];
  const set = { records, unread: 0 };
  return {
    records,
    ...updateSet({ checkout, name: 'two', allow: [] }, set, (event) => void events.push(event)),
  };
}

it('saves the answers that have changed, and leaves the other lines as they are', async () => {
  await run('save', ['two', '1', '2']);
  const [first, second] = (await read('two')).split('\n');
  const { records, accepts, write } = updating();
  const response = { response: { allowed: false, status: { code: 422, message: 'no' } } };
  const after = record(2, { verdict: 'denied', code: 422, message: 'no', response });
  expect(accepts(records[1]!, after)).toBe(true);
  expect(await read('two')).toBe(`${first}\n${second}\n`);
  await write();
  const [same, changed = ''] = (await read('two')).split('\n');
  expect(same).toBe(first);
  expect(JSON.parse(changed)).toMatchObject({ id: 'r-000002', verdict: 'denied', code: 422, response });
  // What the other build answered is gone.
  expect(JSON.parse(changed)).not.toHaveProperty('build');
});

it.each<[string, Partial<ReviewRecord>]>([
  ['without a verdict', { verdict: 'failed' }],
  ['that says that there is no cluster', { verdict: 'denied', message: `no: ${NO_CLUSTER.message}` }],
])('accepts no answer %s', (_, more) => {
  const events: DevloopEvent[] = [];
  const { records, accepts } = updating(events);
  expect(accepts(records[0]!, record(1, more))).toBe(false);
  expect(events).toMatchObject([{ code: 'reviews.not-updated', values: { review: 'r-000001' } }]);
});

it('overwrites no set that somebody changed meanwhile, and none with lines that it cannot read', async () => {
  await run('save', ['two', '1', '2']);
  const { records, accepts, write } = updating();
  accepts(records[0]!, record(1, { verdict: 'denied' }));
  await run('save', ['two', '3'], { update: true });
  await expect(write()).rejects.toMatchObject({ code: 'files.not-written' });
  expect(await read('two')).toContain('r-000003');
  expect(() => updateSet({ checkout, name: 'two', allow: [] }, { records, unread: 1 }, () => {})).toThrow(
    expect.objectContaining({ code: 'files.not-written' }),
  );
});

describe('a set that may contain secrets', () => {
  const secret = 'bXkgc2VjcmV0IHZhbHVlIDEyMzQ1Ng';
  const object = { spec: { note: secret } };
  const place = '.request.request.object.spec.note';
  const withSecret = record(1, { request: { kind: 'AdmissionReview', request: { uid: 'u', object } } });
  beforeEach(() => writeFile(join(sets, 'old.ndjson'), `${JSON.stringify(withSecret)}\n${text(2)}\n`));

  it('is not saved, and the error names the place and the flag that saves it', async () => {
    await expect(run('save', ['new'])).rejects.toMatchObject({
      code: 'review.may-be-secret',
      message: expect.stringContaining(`r-000001 ${place}: `),
      hint: expect.stringContaining(`--allow ${place}`),
    });
    expect(await readdir(sets)).toEqual(['old.ndjson']);
    await expect(run('save', ['new'], { allow: ['.request.other'] })).rejects.toThrow();
    await run('save', ['new'], { allow: [place] });
    expect(await read('new')).toContain(secret);
    await run('save', ['other', '2']);
  });

  it('takes new answers without the question for what it contains already, and not with a new secret', async () => {
    await run('save', ['two'], { allow: [place] });
    const records = [withSecret, record(2)];
    const answered = async (message: string) => {
      const updating = updateSet({ checkout, name: 'two', allow: [] }, { records, unread: 0 }, () => {});
      updating.accepts(records[0]!, record(1, { verdict: 'denied', message }));
      await updating.write();
    };
    await expect(answered(`no: ghp_${'a1B2'.repeat(9)}`)).rejects.toMatchObject({
      code: 'review.may-be-secret',
    });
    await answered('no');
    expect(await read('two')).toContain('"verdict":"denied"');
  });
});

it('an id that there is not is an error, also among others', async () => {
  for (const action of ['save', 'replay'] as const)
    await expect(run(action, [...(action === 'save' ? ['new'] : []), '1', '9'])).rejects.toMatchObject({
      ...{ code: 'review.not-found', message: expect.stringContaining('no review 9') },
    });
  expect(await readdir(sets)).toEqual(['old.ndjson']);
});

it('a filter that selects nothing says so, and how many reviews there are', async () => {
  expect(await run('list', [], { filter: { kind: 'Aplication' } })).toMatchObject([
    { code: 'reviews.none', values: { reviews: 3 } },
  ]);
  const some = await run('list', [], { filter: { verdict: 'allowed' } });
  expect(some.map(({ type }) => type)).not.toContain('note');
});

it('reviews that are saved from outside any checkout belong to the checkout of their session', async () => {
  const home = await mkdtemp(join(tmpdir(), 'no-checkout-'));
  const env = { XDG_STATE_HOME: join(home, 'state') };
  const machine = await thisMachine(env);
  await claimDirectory(machine, 's1', { checkout });
  await writeFile(join(machine.stateDirectory, 's1', 'reviews.ndjson'), `${text(1)}\n`);
  const options = { format: 'review', follow: false, sideEffects: false } as const;
  const io = { emit: () => {}, env, cwd: home, signal: new AbortController().signal, onCluster: () => {} };
  const save = { action: 'save' as const, filter: {}, update: false, allow: [] };
  await reviews({ ...options, ...save, ids: ['far'] }, io);
  expect(await read('far')).toContain('r-000001');
  expect(await readdir(home)).toEqual(['state']);
  await rm(home, { recursive: true });
});

it('following lists what is new, and ends with what it follows', async () => {
  const events: DevloopEvent[] = [];
  const ids = () => events.flatMap((event) => (event.type === 'reviews.listed' ? [event.review.id] : []));
  const following = run('list', [], { follow: true }, events);
  await appendFile(join(sets, 'old.ndjson'), `${text(1_000_000)}\n`);
  await eventually(async () => expect(ids()).toContain('r-1000000'));
  await rm(join(sets, 'old.ndjson'));
  await following;
  expect(ids()).toEqual(['r-000001', 'r-000002', 'r-000003', 'r-1000000']);
});
