import { join } from 'node:path';
import { isFile } from '../../checkout/files.ts';

/** The names that kustomize knows. */
export const KUSTOMIZATIONS = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];

/** The kustomization of a directory. */
export function kustomizationOf(directory: string): string | undefined {
  return KUSTOMIZATIONS.map((file) => join(directory, file)).find(isFile);
}
