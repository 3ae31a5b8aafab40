/** Whether a package is in a directory of tools, tests or examples. */
export function isToolDirectory(goPackage: string): boolean {
  return TOOLS.test(goPackage);
}

const TOOLS = /(?:^|\/)(?:hack|tests?|tools?|examples?|samples?|docs?|e2e|scripts?|internal\/tools?)(?:\/|$)/;

/** Whether a program is named like one that links what it installs, or validates as the webhooks do, and runs in no cluster. */
export function isCommandLineName(name: string): boolean {
  return /^kubectl[-_]|ctl$|(?:^|-)cli$/.test(name);
}
