import { expect, it, vi } from 'vitest';
import type { Prober } from '../../../src/cluster/takeover/probe.ts';
import type { ProbeAnswer } from '../../../src/cluster/takeover/probe-answer.ts';
import { probeUntil, type Wanted } from '../../../src/session/route/probe-until.ts';

const US: ProbeAnswer = { reached: true, latencyMs: 1 };
const PENDING: ProbeAnswer = {
  reached: false,
  pending: true,
  cause: 'kube-apiserver does not know the probe yet',
};
const said = (cause: string): ProbeAnswer => ({ reached: false, pending: false, cause });
const NOBODY = [
  'dial tcp 10.0.0.5:443: connect: connection refused',
  'dial tcp 10.0.0.5:443: i/o timeout',
  'no endpoints available for service "webhook"',
  'context deadline exceeded',
  'EOF',
].map(said);
const OTHERS = [
  'the server could not find the requested resource',
  'tls: failed to verify certificate: x509: certificate signed by unknown authority',
].map(said);

/** Gives these answers, and then the last one again and again. Resolves with the number of probes until the wanted one was reached. */
async function asked(answers: ProbeAnswer[], wanted: Wanted, atOnce: number): Promise<number> {
  let count = 0;
  const next = (): ProbeAnswer => answers[Math.min(count++, answers.length - 1)]!;
  const prober: Prober = {
    once: async () => next(),
    others: async () => Array.from({ length: atOnce - 1 }, next),
    reachesTogether: async () => false,
    async [Symbol.asyncDispose]() {},
  };
  const { reached } = await probeUntil(prober, { wanted, limitMs: 60_000 }, new AbortController().signal);
  expect(reached).toBe(true);
  return count;
}

it.each(NOBODY)(
  'a call that nothing answered does not count as an answer from elsewhere: $cause',
  async (nobody) => {
    expect(await asked([nobody, nobody, nobody, OTHERS[0]!], 'other', 2)).toBe(5);
  },
);

it.each(OTHERS)("any answer but the gateway's counts as one from elsewhere: $cause", async (other) => {
  expect(await asked([US, PENDING, other, US, other], 'other', 2)).toBe(6);
});

it('all others together are asked first, and only about the gateway: of several refusals kube-apiserver passes on one', async () => {
  const calls: string[] = [];
  const ask = async (answer: ProbeAnswer, wanted: Wanted): Promise<boolean> => {
    const prober = {
      once: async () => answer,
      others: async () => {
        calls.push('one by one');
        return [];
      },
      reachesTogether: async () => calls.push('together') > 0,
    };
    const { signal } = new AbortController();
    return (await probeUntil(prober, { wanted, limitMs: 60_000 }, signal)).reached;
  };
  expect(await ask(US, 'us')).toBe(true);
  expect(await ask(OTHERS[0]!, 'other')).toBe(true);
  expect(calls).toEqual(['together', 'one by one']);
});

it('one answer is not enough, and a probe that kube-apiserver does not know yet is none', async () => {
  expect(await asked([US, NOBODY[0]!, US, PENDING, US], 'us', 2)).toBe(6);
});

it('either answer counts where it does not matter whose it is', async () => {
  expect(await asked([US, OTHERS[0]!, NOBODY[0]!, PENDING, US, OTHERS[0]!, US], 'any', 3)).toBe(7);
});

it.each([
  ['the gateway', 'other', US],
  ['nothing', 'other', NOBODY[0]!],
  ['something else', 'us', OTHERS[0]!],
] as const)('whoever is wanted is not reached as long as %s answers', async (_, wanted, answer) => {
  const prober = { once: async () => answer, others: async () => [], reachesTogether: async () => false };
  const { reached } = await probeUntil(prober, { wanted, limitMs: 60 }, new AbortController().signal);
  expect(reached).toBe(false);
});

it('what is hopeless is given up long before the time is up', async () => {
  const prober = { once: async () => NOBODY[0]!, others: async () => [], reachesTogether: async () => false };
  let asks = 0;
  // The clock is a second later at each look.
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
  const isHopeless = async (): Promise<boolean> => {
    asks += 1;
    return true;
  };
  const probing = { wanted: 'us', limitMs: 60_000, isHopeless } as const;
  const { reached } = await probeUntil(prober, probing, new AbortController().signal);
  clock.mockRestore();
  expect({ reached, asks }).toEqual({ reached: false, asks: 1 });
});
