const ARGUMENTS = String.raw`\(((?:[^()]|\([^()]*\))*)\)`;
/** A decorator of kopf for a webhook, with its arguments; further decorators can follow before the function. */
const HANDLER = new RegExp(
  String.raw`@kopf\.(?:on\.)?(?:validate|mutate)\s*${ARGUMENTS}(?=\s*(?:@[\w.]+\s*(?:${ARGUMENTS})?\s*)*(?:async\s+)?def\s+(\w+))`,
  'g',
);
const ID = /\bid\s*=\s*(["'])([\w./-]+)\1/;
const FIELD = /\bfield\s*=\s*(["'])([\w.]+)\1/;

/** The HTTP paths of the webhooks that kopf serves for these handlers: its server makes each path from the handler's id. */
export function kopfPaths(text: string): string[] {
  return [...text.matchAll(HANDLER)].map(([, args = '', , name]) => {
    const [id, field] = [ID.exec(args)?.[2] ?? name, FIELD.exec(args)?.[2]];
    return field === undefined ? `/${id}` : `/${id}/${field}`;
  });
}
