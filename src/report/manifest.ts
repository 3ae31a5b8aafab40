import { counted } from '../phrases.ts';
import type { ObjectName } from './object-name.ts';

/** A CRD, role or webhook configuration that the checkout or the cluster declares. */
export interface ComparedManifest {
  object: ObjectName;
  /** The file of the checkout; absent if only the cluster declares the object. */
  file?: string;
  /** `missing`: the cluster does not have the object. `extra`: only the cluster has it. */
  is: 'same' | 'different' | 'missing' | 'extra';
  differences: ManifestDifference[];
}

/** A value that only one side has, or that differs. */
export interface ManifestDifference {
  /** `spec.colour`, `a.example.com.rules`, `create pods/exec`. */
  what: string;
  is: 'only here' | 'only in the cluster' | 'different';
}

/** How many differences of one manifest are named. */
const NAMED_DIFFERENCES = 4;

const CREATED_BY = '; it is created when this project is deployed (usually with: make deploy)';

/** `CustomResourceDefinition x (config/crd/x.yaml): spec.colour is only here`. */
export function manifestText({ object, file, is, differences }: ComparedManifest): string {
  const subject = `${object.kind} ${object.name}${file === undefined ? '' : ` (${file})`}`;
  if (is === 'missing')
    return `${subject} is not in the cluster${object.kind === 'CustomResourceDefinition' ? '' : CREATED_BY}`;
  if (is === 'extra') return `${subject} is in the cluster, but not in this checkout`;
  if (is === 'same') return `${subject} is the same in the cluster`;
  const named = differences.slice(0, NAMED_DIFFERENCES).map(({ what, is: how }) => `${what} is ${how}`);
  const others = differences.length - named.length;
  return `${subject}: ${[...named, ...(others > 0 ? [`${counted(others, 'more difference')}`] : [])].join('; ')}`;
}
