import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { ForksPoolWorker, type PoolRunnerInitializer } from 'vitest/node';
import { type Machine, openMachine } from './machine.ts';

const isolated = ['--net', '--mount', '--mount-proc', '--pid', '--fork', '--kill-child'];

/**
 * Runs each test file in a process of its own, as vitest's `forks` does, but on a machine of its own, with its own network, processes and
 * /proc.
 */
export const machines: PoolRunnerInitializer = {
  name: 'machines',
  createPoolWorker: (options) => new MachineWorker(options),
};

class MachineWorker extends ForksPoolWorker {
  override readonly name = machines.name;
  #machine: Machine | undefined;
  #process: ChildProcess | undefined;

  override async start(): Promise<void> {
    this.#machine = openMachine();
    this.#process = fork(this.entrypoint, [], {
      execPath: 'unshare',
      execArgv: [
        ...isolated,
        ...['bash', join(import.meta.dirname, 'machine.sh')],
        ...[process.execPath, ...this.execArgv],
      ],
      env: { ...this.env, ...this.#machine.env, ...images() },
      stdio: 'pipe',
      serialization: 'advanced',
    });
    this.#machine.process = this.#process;
    // The base class starts its own process only if there is none yet.
    Object.assign(this, { _fork: this.#process });
    await super.start();
  }

  override async stop(): Promise<void> {
    // unshare does not react to the SIGTERM that the base class sends.
    this.#process?.kill('SIGKILL');
    await super.stop();
    await this.#machine?.close();
  }
}

/** The directory where `setup.ts`, in this process, has put the images of the boxes. */
function images(): Record<string, string> {
  const { DEVLOOP_TEST_IMAGES: store } = process.env;
  return store === undefined ? {} : { DEVLOOP_TEST_IMAGES: store };
}
