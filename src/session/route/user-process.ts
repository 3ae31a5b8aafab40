import { allDone } from '../../async.ts';
import { whenListening } from '../../gateway/listening.ts';
import { targetPorts } from '../../operator/target.ts';
import { createServedGate, type ServedCheck, type ServedGate } from './served.ts';

/**
 * Asks the process that the user starts whether it serves the webhooks, and each one after it, since the user may start it again at any
 * time. A warning names the paths that it does not serve; their reviews are still passed on.
 */
export function askUserProcess({
  work,
  target,
}: Pick<ServedCheck, 'work' | 'target'>): Pick<ServedGate, 'called'> & AsyncDisposable {
  const ending = new AbortController();
  const signal = AbortSignal.any([work.signal, ending.signal]);
  const asked = createServedGate({
    work: { emit: work.emit, signal },
    ...{ target, gateways: LET_THROUGH, rivals: [], isUsers: true },
  });
  const onListening = (): void => {
    asked.hold(() => {});
    asked.release();
  };
  const following = allDone(
    targetPorts(target.services).map((port) => whenListening(port, onListening, signal)),
  );
  return {
    called: asked.called,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await following;
    },
  };
}

/** A process that was started again serves what the one before it did not, and nobody says when. */
const LET_THROUGH: ServedCheck['gateways'] = {
  refuse() {},
  ask() {},
  hold() {},
  release() {},
  controllerDown() {},
  failFast() {},
};
