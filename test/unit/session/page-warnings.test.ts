import { expect, it } from 'vitest';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { createPageWarnings, keepingWarnings } from '../../../src/session/context/page-warnings.ts';

const refused = (times: number, name = 'web') =>
  notice('calls.conflicts', {
    object: { kind: 'Deployment', namespace: 'default', name },
    ...{ times, seconds: 60, last: 'c-000001', verb: 'update', cause: 'modified' },
  });

it('a warning that is said again of the same object replaces the one before, and comes last', () => {
  let seconds = 0;
  const warnings = createPageWarnings(() => new Date(1_000 * seconds++));
  for (const one of [refused(5), refused(5, 'other'), refused(9)]) warnings.add(one);
  warnings.add(notice('page.not-served', { cause: 'no port' }));
  const listed = warnings.list();
  expect(listed.map(({ object }) => object?.name)).toEqual(['other', 'web', undefined]);
  expect(listed[1]).toMatchObject({ at: '1970-01-01T00:00:02.000Z', code: 'calls.conflicts' });
  expect(listed[1]!.message).toBe(refused(9).message);
});

it('keeps the newest fifty', () => {
  const warnings = createPageWarnings(() => new Date(0));
  for (let number = 1; number <= 60; number++) warnings.add(refused(5, `web-${number}`));
  expect(warnings.list().map(({ object }) => object?.name)).toHaveLength(50);
  expect(warnings.list()[0]!.object?.name).toBe('web-11');
});

it('has each warning that is printed, also one that no part of the session gets, and from before there is a session', () => {
  const printed: unknown[] = [];
  const given = { emit: (event: unknown) => void printed.push(event), signal: new AbortController().signal };
  const io = keepingWarnings({ ...given, env: {}, cwd: '/' });
  io.emit(notice('embedded.left-out', { kind: 'Pod', name: 'web', why: 'no node' }));
  const later = keepingWarnings(io);
  later.emit(notice('controller.repeats-error', { times: 10, logged: 'boom' }));
  later.emit(notice('controller.still-answering', {}));
  expect(printed).toHaveLength(3);
  expect(later.warnings.list().map(({ code }) => code)).toEqual([
    'embedded.left-out',
    'controller.repeats-error',
  ]);
});
