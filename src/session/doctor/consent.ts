import { recogniseCluster } from '../../cluster/api/recognise.ts';
import { factsOf, flagsFor, type Question } from '../context/question.ts';
import { openQuestion, questionFor } from '../start/consent.ts';
import { type Check, type Finding, neededOperator } from './check.ts';

/** Does `up` need the user's agreement, and to what? */
export const consentCheck: Check = {
  name: 'consent',
  limitSeconds: 30,
  async run(run) {
    const found = await neededOperator(run.operator);
    const context = await run.context;
    const recognised = await recogniseCluster(context.api);
    const question = await questionFor(context, recognised, found);
    return consentFinding(
      openQuestion([question], run.machine, run.settings.context.from[0] === 'flag'),
      question,
    );
  },
};

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
