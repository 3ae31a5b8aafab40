import { posix } from 'node:path';
import { readBuildText } from './build-text.ts';
import { expandVariables } from './variables.ts';

/** The place of kubebuilder's. */
export const DEFAULT_OVERLAY = 'config/default';
const NAMED =
  /(?:kustomize(?:\)|\})?"? build(?:\s+-\S+)*|\bapply\b(?:\s+-\S+)* -k)\s+((?:[\w./-]|\$\(\w+\)|\$\{\w+\})+)/gi;
const RULE = /^([\w./-]+)[ \t]*:(?![:=])/;

/** The kustomizations that a Makefile builds: what its `deploy` builds comes first, and the place of kubebuilder's next. CRDs alone do not count. */
export function builtOverlays(makefile: string): string[] {
  const { lines, variables } = readBuildText(makefile);
  const ofDeploy: string[] = [];
  const others: string[] = [];
  let target = '';
  for (const line of lines) {
    if (!line.startsWith('\t')) target = RULE.exec(line)?.[1] ?? target;
    for (const [, written] of line.matchAll(NAMED)) {
      const built = expandVariables(written!, variables);
      const name = built && posix.normalize(`${built}/`).slice(0, -1);
      if (name && !/crd/.test(name)) (target === 'deploy' ? ofDeploy : others).push(name);
    }
  }
  return [...new Set([...ofDeploy, DEFAULT_OVERLAY, ...others])];
}
