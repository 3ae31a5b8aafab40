import { tmpdir } from 'node:os';
import type { Checkout } from '../../checkout/files.ts';
import type { FoundProgram, Preflight, ToolchainQuestion } from '../../checkout/language.ts';
import { controllerSettings } from '../../config/merge.ts';
import { DevloopError } from '../../errors.ts';
import { checkoutFacts, languageOf } from '../../languages.ts';
import { brokenProgram, type PlannedProgram, planProgram } from '../../local/program.ts';
import { isCheckout } from '../context/checkout.ts';
import {
  type Check,
  type DoctorRun,
  type Finding,
  NotChecked,
  NothingToCheck,
  neededOfCluster,
} from './check.ts';

interface AskedToolchain extends ToolchainQuestion {
  checkout: Checkout;
  /** Whether the controller's command comes from devloop.yaml. */
  hasOwnCommand: boolean;
}

export async function judgeToolchain({
  checkout,
  hasOwnCommand,
  ...machine
}: AskedToolchain): Promise<Finding> {
  const { root } = checkout;
  if (hasOwnCommand) throw new NotChecked("devloop.yaml sets the controller's command");
  if (!isCheckout(root)) throw new NothingToCheck(`${root} is not a checkout`);
  const language = await languageOf(checkout);
  const finding = await language?.toolchain(checkout, machine);
  if (finding !== undefined) return finding;
  throw new NotChecked(`nothing in ${root} says which tools build it`);
}

/** Can this machine's tools build the checkout? */
export const toolchainCheck: Check = {
  name: 'toolchain',
  limitSeconds: 30,
  timeoutCode: 'controller.no-toolchain',
  run: ({ toolchain }) => toolchain,
};

/** What would be built and run here? */
export const programCheck: Check = {
  name: 'program',
  limitSeconds: 60,
  timeoutCode: 'controller.no-main',
  async run({ context, program: planning }, signal) {
    await neededOfCluster(context);
    const program = await planning;
    if (program.is === 'command')
      return {
        verdict: 'ok',
        answer: `runs ${program.run.join(' ')}`,
        proof: ['devloop.yaml: controller.run'],
      };
    const { found } = program;
    const proof = found.chosen.map(({ what, value, source }) => `${what} ${value} (${source})`);
    return programFinding(found, [found.source, ...proof], await found.preflight(signal));
  },
};

type ProgramOf = Pick<DoctorRun, 'checkout' | 'settings' | 'io' | 'operator' | 'toolchain'>;

/** The program that `up` would build and run. If no operator was found for another reason than a missing checkout, it can still be found. */
export async function programOf({
  checkout,
  settings,
  io,
  operator,
  toolchain,
}: ProgramOf): Promise<PlannedProgram> {
  const own = controllerSettings(settings);
  // If the module is too new for this Go, the go tool would download another toolchain.
  const tools = own.run === undefined ? await toolchain.catch(() => undefined) : undefined;
  if (tools?.verdict === 'fail' || tools?.verdict === 'warn')
    throw new NotChecked(`this machine's ${(await languageOf(checkout))?.name} does not fit the checkout`);
  const discovered = await operator.catch(unlessMissing);
  const facts = discovered?.facts ?? (await checkoutFacts(checkout));
  const inputs = { ...facts, target: discovered?.target, checkout, settings: own, directory: tmpdir() };
  return await planProgram(inputs, { emit: () => {}, signal: io.signal });
}

/** Throws if there is no checkout. */
function unlessMissing(error: unknown): undefined {
  if (error instanceof DevloopError && error.code === 'target.no-operator')
    throw new NothingToCheck('there is no checkout');
}

function programFinding(found: FoundProgram, proof: string[], build: Preflight): Finding {
  const answer = `${found.build === undefined ? 'runs' : 'builds'} ${found.what} ${found.name}`;
  if (build.is === 'ready') return { verdict: 'ok', answer, proof };
  if (build.is === 'downloads')
    return { verdict: 'ok', answer: `${answer}; the first build downloads libraries`, proof };
  const { message, hint = 'Fix the error and run devloop doctor again.' } = brokenProgram(found, build);
  return { verdict: 'fail', answer: message, proof, hint, code: 'controller.build-failed' };
}
