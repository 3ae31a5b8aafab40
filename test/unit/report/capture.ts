import type { DevloopEvent } from '../../../src/report/events.ts';
import { createHumanPrinter, type HumanPrinterOptions } from '../../../src/report/human.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';

export interface Captured {
  stderr: string;
  stdout: string;
}

interface Options {
  verbosity?: HumanPrinterOptions['verbosity'];
  env?: Record<string, string>;
  terminal?: { columns: number };
  /** The Deployment that the events are about. */
  deployment?: string;
}

/** What a person sees when these events are printed. */
export function printed(
  events: DevloopEvent[],
  { verbosity = 'normal', env = {}, terminal, deployment }: Options = {},
): Captured {
  const captured: Captured = { stderr: '', stdout: '' };
  const printer = createHumanPrinter({
    stderr: {
      write: (text) => (captured.stderr += text),
      isTTY: terminal !== undefined,
      columns: terminal?.columns,
    },
    stdout: {
      write: (text) => (captured.stdout += text),
      isTTY: terminal !== undefined,
      columns: terminal?.columns,
    },
    env,
    verbosity,
  });
  for (const event of events) printer.print(event, deployment);
  printer.close();
  return captured;
}

/** One event of every type, with the text in every place where a text from outside may be. */
export function everyEvent(text: string): DevloopEvent[] {
  return [
    { type: 'discovered', what: 'service', value: text, source: text },
    notice('error.further', { cause: text, next: text }),
    notice('login.output', { line: text }),
    { type: 'waiting', for: text, seconds: 1, limitSeconds: 60 },
    { type: 'change', action: 'update', object: { kind: text, namespace: text, name: text }, detail: text },
    { type: 'test.started', command: [text] },
    {
      ...{ type: 'test.done', command: [text], exitCode: 137, signal: text, ms: 5, hint: text },
      reviews: { all: 3, denied: 1, failed: 1 },
      reconciles: { all: 2, failed: 1 },
    },
    { type: 'reviews.set', name: text, file: text, reviews: 2 },
    { type: 'route.planned', route: text, position: 1, detail: text },
    { type: 'controller.planned', build: [text], command: [text], cwd: text, account: text },
    { type: 'route.verified', route: text, address: text, service: text, latencyMs: 3 },
    { type: 'certificate.written', directory: text, names: [text], notAfter: text, source: text },
    { type: 'build.started', reason: [text] },
    { type: 'build.done', ms: 5 },
    { type: 'build.failed', ms: 5, output: text },
    { type: 'controller.started', pid: 7, command: [text], build: text },
    { type: 'controller.ready', pid: 7, ms: 5 },
    { type: 'controller.silent', pid: 7, ms: 5 },
    { type: 'controller.down', why: text },
    { type: 'controller.exited', pid: 7, code: null, signal: text, expected: false },
    { type: 'controller.replaced', pid: 7, ms: 5, heldMs: 2 },
    { type: 'leader.waiting', lease: { kind: text, namespace: text, name: text }, holder: text },
    { type: 'leader.elected', lease: { kind: text, namespace: text, name: text }, ms: 5 },
    { type: 'leader.released', lease: { kind: text, namespace: text, name: text }, holder: text },
    { type: 'controller.output', stream: 'stdout', line: text },
    { type: 'session.started', session: text, context: text, targets: [{ kind: text, name: text }] },
    { type: 'session.ready', session: text, ms: 5 },
    { type: 'manager.gone', session: text, ms: 5, oldPods: 2 },
    { type: 'session.stopping', reason: text },
    { type: 'reviews.held', session: text },
    { type: 'reviews.released', session: text, waiting: 2 },
    { type: 'files.ignored' },
    { type: 'files.followed', files: [text] },
    { type: 'session.restored', session: text, changes: 2, ms: 5 },
    {
      type: 'guard.overwritten',
      object: { kind: text, name: text },
      field: text,
      from: text,
      to: text,
      by: { manager: text, operation: text, time: text },
    },
    { type: 'guard.deleted', object: { kind: text, name: text } },
    {
      type: 'guard.followed',
      object: { kind: text, name: text },
      changes: [text],
      restart: true,
      by: { manager: text, operation: text },
    },
    {
      type: 'status',
      searched: { context: text },
      sessions: [
        {
          session: text,
          holder: text,
          since: text,
          route: text,
          targets: [{ kind: text, name: text }],
          state: 'live',
          account: text,
          health: text,
          objects: [{ kind: text, name: text }],
        },
      ],
    },
    { type: 'finding', check: 'x', verdict: 'fail', answer: text, proof: [text], latencyMs: 3, hint: text },
    { type: 'error', code: 'usage.invalid', message: text, hint: text, exitCode: 2 },
  ];
}
