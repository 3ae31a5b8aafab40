import { recogniseCluster } from '../../cluster/api/recognise.ts';
import { shellWord } from '../../phrases.ts';
import { asksForCluster, factsOf, flagsFor, type Question } from '../context/question.ts';
import { openQuestion, questionFor } from '../start/consent.ts';
import {
  type Check,
  type Consent,
  type DoctorRun,
  type Finding,
  NotChecked,
  needed,
  neededOperator,
} from './check.ts';

/** Does `up` need the user's agreement, and to what? */
export const consentCheck: Check = {
  name: 'consent',
  limitSeconds: 30,
  async run(run) {
    const { open, question } = await neededOperator(run.consent);
    return consentFinding(open, question);
  },
};

export async function consentOf(
  run: Pick<DoctorRun, 'context' | 'operator' | 'machine' | 'settings'>,
): Promise<Consent> {
  const found = await neededOperator(run.operator);
  const context = await run.context;
  const recognised = await recogniseCluster(context.api);
  const question = await questionFor(context, recognised, found);
  const isNamed = run.settings.context.from[0] === 'flag';
  return { open: openQuestion([question], run.machine, isNamed), question };
}

/** A checkout can choose the cluster, so nothing is created in one that the user has not agreed to. Throws NotChecked. */
export async function requireAgreement(run: Pick<DoctorRun, 'consent'>): Promise<void> {
  const { open, question } = await needed(
    run.consent,
    'it is not known whether you have agreed to the cluster',
  );
  if (open === undefined || !asksForCluster(open.pending)) return;
  const command = `devloop doctor --context ${shellWord(question.cluster.context)}`;
  throw new NotChecked(
    `this creates temporary objects, and you have not agreed to changes in this cluster. To agree to these: ${command}`,
  );
}

export function consentFinding(
  open: ReturnType<typeof openQuestion>,
  { cluster: { id, tool } }: Pick<Question, 'cluster'>,
): Finding {
  const proof = [tool === undefined ? `the cluster is known by its ${id}` : `its Nodes are those of ${tool}`];
  if (open === undefined)
    return { verdict: 'ok', answer: '`up` asks nothing before its first change', proof };
  const { asked, pending } = open;
  return {
    verdict: 'info',
    answer: `\`up\` asks first, and fails without a terminal:\n${factsOf(asked, pending)}`,
    proof,
    hint: `To agree beforehand: devloop up ${flagsFor(asked, pending)}`,
  };
}
