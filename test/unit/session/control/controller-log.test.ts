import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { notice } from '../../../../src/report/notices/catalogue.ts';
import { createControllerLog, isWarningLine } from '../../../../src/session/control/controller-log.ts';

it.each([
  ['zap, JSON', '{"level":"info","ts":1.7,"msg":"no error here"}', false],
  ['zap, JSON', '{"level":"error","ts":1.7,"msg":"x","stacktrace":"main\\n"}', true],
  ['zap, JSON, verbose', '{"level":"Level(-4)","ts":1.7,"msg":"error"}', false],
  ['zap, console', '2026-11-22T10:15:02Z\tINFO\tsetup\tERROR is a word of the message', false],
  ['zap, console', '2026-11-22T10:15:02Z\tERROR\tReconciler error\t{"name":"x"}', true],
  ['zap, console, colours', '2026-11-22T10:15:02Z\t\x1b[33mWARN\x1b[0m\tx', true],
  ['zap, console, lower case', '1.7e+09\tdpanic\tx', true],
  ['zap, console, lower case', '1.7e+09\tinfo\tan error', false],
  ['klog', 'I1122 10:15:02.123456   42 leaderelection.go:245] attempting', false],
  ['klog', 'W1122 10:15:02.123456   42 reflector.go:56] x', true],
  ['klog', 'E1122 10:15:02.123456   42 reflector.go:56] x', true],
  ['klog, JSON', '{"ts":1.7,"caller":"a.go:1","msg":"x","v":0}', false],
  ['klog, JSON', '{"ts":1.7,"caller":"a.go:1","msg":"x","err":"boom"}', true],
  ['slog, text', 'time=2026-11-22T10:15:02Z level=WARN msg=x', true],
  ['slog, text', 'time=2026-11-22T10:15:02Z level=INFO msg="level=ERROR"', false],
  ['slog, JSON', '{"time":"2026-11-22T10:15:02Z","level":"DEBUG","msg":"x"}', false],
  ['logrus', 'time="2026-11-22T10:15:02Z" level=warning msg=x', true],
  ['zerolog, console', '10:15AM ERR x', true],
  ['python', 'WARNING:kopf:x', true],
  [
    'kopf',
    '[2026-11-22 10:15:02,1] kopf.objects         [INFO    ] [default/x] Handler failed? ERROR',
    false,
  ],
  ['java', '2026-11-22 10:15:02,123 WARN  [io.qua.ope] (main) x', true],
  ['rust', '[2026-11-22T10:15:02Z INFO  controller] x', false],
  ['.NET', 'fail: KubeOps[0]', true],
  ['.NET', 'info: KubeOps[0]', false],
  ['pino', '{"level":30,"msg":"x"}', false],
  ['pino', '{"level":50,"msg":"x"}', true],
  ['a panic', 'panic: runtime error: index out of range', true],
  ['a traceback', 'Traceback (most recent call last):', true],
  ['no level', '\t/src/main.go:12 +0x1d', undefined],
  ['no level', 'error is what it talks about', undefined],
  ['broken JSON', '{"level":', undefined],
])('%s: %j', (_, line, expected) => {
  expect(isWarningLine(line)).toBe(expected);
});

const line = (text: string, stream: 'stdout' | 'stderr' = 'stderr'): DevloopEvent => ({
  type: 'controller.output',
  stream,
  line: text,
});

it('shows a warning with the lines that belong to it, and all other events', () => {
  const log = createControllerLog('warnings');
  const lines = [
    line('before any level'),
    line('E1122 10:15:02 x'),
    line('\tat main.go'),
    line('I1122 10:15:02 y'),
  ];
  expect(lines.map((one) => log.shows(one))).toEqual([true, true, true, false]);
  expect(log.shows(line('\tmore of it'))).toBe(false);
  expect(log.shows(line('printed', 'stdout'))).toBe(true);
  expect(log.shows(notice('login.output', { line: 'I1122 10:15:02 z' }))).toBe(true);
});

it.each([
  ['all', [true, true], [false, false], [true, true]],
  ['warnings', [false, true], [false, false], [false, true]],
  ['off', [false, false], [true, true], [false, false]],
] as const)('toggles %s', (chosen, ...expected) => {
  const log = createControllerLog(chosen);
  const shown = () => [log.shows(line('INFO x')), log.shows(line('WARN x'))];
  const states = expected.map(() => {
    const now = shown();
    log.toggle();
    return now;
  });
  expect(states).toEqual(expected);
});
