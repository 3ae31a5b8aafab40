/**
 * Reviews that are held, also while the controller is restarted: each gets an answer in time, the controller's or devloop's, and none is
 * reset.
 */
import { Agent } from 'node:https';
import { expect, it } from 'vitest';
import { record, repeat } from '../../support/repeat.ts';
import { Controller, setUp, until } from './support.ts';

const body = JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'v1', request: { uid: '1' } });
const PATIENT = 25;
const IMPATIENT = 5;

it('a hold loses no review, whether it ends in time or not', { timeout: 600_000 }, async () => {
  const controller = new Controller((_request, response) => response.end('{"by":"the controller"}'));
  await using bench = await setUp(controller, { hooks: { onTimeout: 'allow' } });
  const { gateway } = bench;
  using agents = new DisposableStack();
  const agent = agents.adopt(new Agent({ keepAlive: true, maxSockets: PATIENT + IMPATIENT }), (one) =>
    one.destroy(),
  );
  const ask = (count: number, timeout: string): Promise<string[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { status, text } = await bench.ask(`/validate?timeout=${timeout}`, { body, agent });
        return status === 200 ? text : `${status}: ${text}`;
      }),
    );
  const started = performance.now();
  let answers = 0;
  await repeat(
    'reviews held while the controller restarts: rounds',
    { soak: 100, quick: 2 },
    async (round) => {
      gateway.holdForUser();
      const impatient = ask(IMPATIENT, '300ms');
      const patient = ask(PATIENT, '30s');
      if (round % 2 === 0) {
        gateway.hold();
        await controller.stop();
        await controller.start();
        gateway.release();
      }
      for (const answer of await impatient) expect(answer).toContain('devloop allowed this');
      await until(() => gateway.held === PATIENT);
      gateway.releaseForUser();
      expect(new Set(await patient)).toEqual(new Set(['{"by":"the controller"}']));
      answers += PATIENT + IMPATIENT;
    },
  );
  record('reviews that were held, each answered', answers, started);
});
