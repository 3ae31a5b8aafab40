import { calledServices, type Declared, isWebhookConfiguration, keyOf } from './declared.ts';
import { CONVERSION, type LeftOut, unconverted } from './to-install.ts';

interface Webhook {
  name?: string;
  clientConfig?: { service?: { namespace?: string; name: string } };
}

/** The manifests without the calls of these Services, whose programs do not run here: each such call would fail. */
export function withoutCalls(
  declared: readonly Declared[],
  unanswered: ReadonlySet<string>,
): { answered: Declared[]; leftOut: LeftOut[] } {
  const leftOut: LeftOut[] = [];
  const answered = declared.flatMap((object) => {
    const lost = calledServices([object]).find((one) => unanswered.has(one));
    if (lost === undefined) return [object];
    const why = `this session does not run what answers for its Service ${lost}`;
    if (!isWebhookConfiguration(object)) {
      leftOut.push({ object, part: CONVERSION, why });
      return [unconverted(object)];
    }
    const all = object.webhooks as Webhook[];
    const isAnswered = ({ clientConfig: { service } = {} }: Webhook): boolean =>
      !service || !unanswered.has(keyOf(service));
    const webhooks = all.filter(isAnswered);
    const others = all.filter((one) => !webhooks.includes(one)).map(({ name }) => name);
    leftOut.push({ object, why, ...(webhooks.length > 0 && { part: `webhook ${others.join(', ')}` }) });
    return webhooks.length > 0 ? [{ ...object, webhooks }] : [];
  });
  return { answered, leftOut };
}
