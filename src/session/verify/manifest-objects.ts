import { parseAllDocuments } from 'yaml';
import { manifestFiles } from '../../checkout/files.ts';

/** The objects in those manifests of a checkout whose text matches. Leaves out the templates of charts, which are not valid YAML. */
export async function manifestObjects(checkout: string, pattern: RegExp): Promise<unknown[]> {
  return (await manifestFiles(checkout, pattern))
    .flatMap(({ text }) => parseAllDocuments(text))
    .flatMap((one): unknown[] => (one.errors.length > 0 ? [] : [one.toJS()]));
}
