import { expect, it } from 'vitest';
import type { ControllerLogChoice } from '../../../../src/config/choices.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { notice } from '../../../../src/report/notices/catalogue.ts';
import { createControllerLog } from '../../../../src/session/control/controller-log.ts';
import { partly } from '../../../support/partly.ts';

const line = (text: string, stream: 'stdout' | 'stderr' = 'stderr'): DevloopEvent => ({
  type: 'controller.output',
  stream,
  line: text,
});
const INFO = (text: string): DevloopEvent => line(`10:15\tINFO\t${text}`);
const ERROR = (text: string): DevloopEvent => line(`10:15\tERROR\t${text}`);
const STARTED: DevloopEvent = { type: 'controller.started', pid: 7, command: ['manager'], build: 'b1' };
const READY: DevloopEvent = { type: 'controller.ready', pid: 7, ms: 5 };
const SILENT: DevloopEvent = { type: 'controller.silent', pid: 7, ms: 5 };
const exited = (expected: boolean): DevloopEvent => ({
  ...{ type: 'controller.exited', pid: 7, code: 1, signal: null, expected },
});

/** What is shown of these events, the texts of lines without their level. */
function shown(chosen: ControllerLogChoice, events: DevloopEvent[], now?: () => number): string[] {
  const log = createControllerLog(chosen, now && { now });
  return events
    .flatMap((event) => log.shown(event))
    .map((event) => (event.type === 'controller.output' ? event.line.split('\t').at(-1)! : event.type));
}

it('shows warnings, lines without a level such as those of a stack trace, and all other events', () => {
  const lines = [INFO('a'), line('printed', 'stdout'), ERROR('b'), line('  at main.go'), INFO('c')];
  const note = notice('login.output', { line: 'I1122 10:15:02 z' });
  expect(shown('warnings', [...lines, note])).toEqual(['printed', 'b', '  at main.go', 'note']);
  expect(shown('off', [...lines, note])).toEqual(['note']);
});

it.each(['warnings', 'off'] as const)(
  'with %s, shows the last lines whole when the controller exits, from the first one on that was left out',
  (chosen) => {
    const lines = [INFO('a'), INFO('b'), line('c')];
    const events = [STARTED, READY, ...lines, exited(false)];
    const without = events.flatMap((event) => (event.type === 'controller.output' ? [] : [event.type]));
    const live = chosen === 'warnings' ? ['c'] : [];
    expect(shown(chosen, events)).toEqual([...without.slice(0, 2), ...live, 'a', 'b', 'c', without[2]]);
    const many = Array.from({ length: 50 }, (_, at) => INFO(`${at}`));
    expect(shown('warnings', [STARTED, READY, ...many, exited(false)])).toEqual([
      ...['controller.started', 'controller.ready'],
      ...Array.from({ length: 20 }, (_, at) => `${at + 30}`),
      'controller.exited',
    ]);
  },
);

it('repeats no line that was shown, and nothing of a controller that devloop ends or that was replaced', () => {
  const events = [STARTED, READY, ERROR('a'), line('b'), exited(false)];
  expect(shown('warnings', events)).toHaveLength(events.length);
  expect(shown('warnings', [STARTED, READY, INFO('a'), exited(true)])).not.toContain('a');
  expect(shown('warnings', [STARTED, READY, INFO('a'), STARTED, READY, exited(false)])).not.toContain('a');
});

it('leaves the last lines of a controller that exits before it is ready to its error, which has them', () => {
  expect(shown('warnings', [STARTED, INFO('a'), exited(false)])).not.toContain('a');
});

it('shows the log of a controller that is not ready in time, until it is', () => {
  const late = [STARTED, INFO('a'), SILENT];
  expect(shown('warnings', late)).toEqual(['controller.started', 'a', 'controller.silent']);
  let now = 0;
  const clock = (): number => (now += 4_000);
  const waits = [STARTED, INFO('a'), INFO('b'), INFO('c'), INFO('d'), READY, INFO('e')];
  const seen = shown('warnings', waits, clock);
  expect(seen).toEqual(['controller.started', 'a', 'b', 'c', 'd', 'controller.ready']);
});

it.each([
  ['all', ['all', 'warnings', 'all']],
  ['warnings', ['warnings', 'all', 'warnings']],
  ['off', ['off', 'all', 'off']],
] as const)('toggles %s, and shows what was left out last', (chosen, expected) => {
  const log = createControllerLog(chosen);
  const texts = (event: DevloopEvent): string[] =>
    log.shown(event).map((one) => (one.type === 'controller.output' ? one.line : one.type));
  const states = [chosen, log.toggle(), log.toggle()];
  expect(states).toEqual(expected);
  texts(line('10:15\tINFO\tx'));
  if (log.toggle() === 'all' && chosen !== 'all')
    expect(texts(READY)).toEqual(['10:15\tINFO\tx', 'controller.ready']);
});

it('shows nothing of what a controller says and does when it may not write any more, unless it exits by itself or all is to be shown', () => {
  const failed: DevloopEvent = partly<Extract<DevloopEvent, { type: 'reconcile' }>>({ type: 'reconcile' });
  const log = (chosen: ControllerLogChoice, mayWrite: boolean) =>
    createControllerLog(chosen, { mayWrite: () => mayWrite });
  const typesOf = (chosen: ControllerLogChoice, mayWrite: boolean, events: DevloopEvent[]): string[] => {
    const { shown } = log(chosen, mayWrite);
    return events.flatMap((event) => shown(event).map(({ type }) => type));
  };
  const events = [ERROR('503'), failed, exited(true)];
  expect(typesOf('warnings', false, events)).toEqual(['controller.exited']);
  expect(typesOf('all', false, events)).toHaveLength(3);
  expect(typesOf('warnings', true, events)).toHaveLength(3);
  expect(typesOf('off', true, events)).toEqual(['reconcile', 'controller.exited']);
  const alone = [STARTED, READY, ERROR('a'), failed, exited(false)];
  expect(typesOf('warnings', false, alone)).toEqual([
    ...['controller.started', 'controller.ready', 'controller.output', 'controller.exited'],
  ]);
});

it('of a controller whose failed reconciles have rows, says nothing of a failure again, but all when it exits', () => {
  const log = createControllerLog('warnings');
  const failed = ERROR('Reconciler error\t{"reconcileID": "18c529d1", "error": "forbidden"}');
  const stack = [
    line('sigs.k8s.io/controller-runtime/pkg.(*Controller[...]).Start'),
    line('\t/go/controller.go:4'),
  ];
  const own = ERROR('no Service\t{"reconcileID": "18c529d1", "error": "x"}');
  const panic = ERROR('Observed a panic\t{"reconcileID": "18c529d1", "panic": "y"}');
  const other = ERROR('watch failed\t{"error": "z"}');
  const seen = (events: DevloopEvent[]) => events.flatMap((event) => log.shown(event));
  const all = [failed, ...stack, own, ...stack, panic, ...stack, other, ...stack];
  expect(seen([STARTED, READY, ...all])).toEqual([STARTED, READY, ...all]);
  log.reportsReconciles();
  expect(seen(all)).toEqual([own, panic, ...stack, other, ...stack]);
  expect(seen([exited(false)])).toEqual([...all, exited(false)]);
  // The next one has to report them, too.
  expect(seen([STARTED, READY, failed])).toContain(failed);
  log.reportsReconciles();
  log.toggle();
  expect(seen([failed, ...stack])).toEqual(expect.arrayContaining([failed, ...stack]));
});

it.each([
  [
    'with zap',
    (kind: string) =>
      `10:15\tERROR\tcontroller-runtime.cache.UnhandledError\tFailed to watch\t{"reflector": "a.go:1", "type": "*v1.X", "error": "failed to list *v1.X: ${kind} is forbidden: User \\"system:serviceaccount:a:b\\" cannot list resource \\"${kind}\\""}`,
  ],
  [
    'with klog',
    (kind: string) =>
      `E1122 10:15:0${performance.now()} 42 reflector.go:204] "Failed to watch" err="failed to list *v1.X: ${kind} is forbidden: User \\"b\\" cannot list resource" type="*v1.X"`,
  ],
])(
  'of a list that is forbidden, %s, shows one line without its stack trace, and all when the controller exits',
  (_, refused) => {
    const log = createControllerLog('warnings');
    const seen = (events: DevloopEvent[]) => events.flatMap((event) => log.shown(event));
    const stack = [line('k8s.io/apimachinery/pkg/util/runtime.logError'), line('\t/go/runtime.go:4')];
    const first = line(refused('configmaps'));
    const other = line(refused('secrets'));
    expect(seen([STARTED, READY, first, ...stack])).toEqual([STARTED, READY, first]);
    expect(seen([line(refused('configmaps')), ...stack, other, ...stack])).toEqual([other]);
    const broken = ERROR('Failed to watch\t{"error": "failed to list *v1.X: connection refused"}');
    expect(seen([broken, ...stack, broken])).toEqual([broken, ...stack, broken]);
    expect(seen([exited(false)]).length).toBeGreaterThan(8);
    // The next process says it again.
    expect(seen([STARTED, READY, first])).toContain(first);
  },
);
