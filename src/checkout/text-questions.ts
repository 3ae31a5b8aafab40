import { dirname } from 'node:path';
import type { FoundFacts, Language } from './language.ts';

/** What devloop asks the files of a language that it reads as text. */
export interface TextQuestions extends Pick<Language, 'sources'> {
  /** Matches the name of a module in its manifest, as the last group. Manifests are the files that are no sources. */
  name: RegExp;
  /** Whether only the manifest in the root names the operator. */
  isOfRoot?: true;
  /** How a client of Kubernetes connects: only as in a Pod, or by a kubeconfig, too. */
  inPod: RegExp;
  anywhere: RegExp;
  /** What else the texts of the sources reveal. */
  more?(texts: string[]): FoundFacts;
}

/** Finds what texts do not show by themselves. */
export function reading({ sources, ...ask }: TextQuestions): Language['read'] {
  return async (checkout, paths) => {
    const texts = paths.filter((path) => sources.test(path)).map((path) => checkout.text(path));
    const isOwn = (path: string): boolean => !ask.isOfRoot || dirname(path) === checkout.root;
    const manifests = paths.filter((path) => !sources.test(path) && isOwn(path));
    const has = (pattern: RegExp): boolean => texts.some((text) => pattern.test(text));
    return {
      names: manifests.map((path) => ask.name.exec(checkout.text(path))?.at(-1) ?? ''),
      connectsFromPod: has(ask.inPod) && !has(ask.anywhere),
      ...ask.more?.(texts),
    };
  };
}
