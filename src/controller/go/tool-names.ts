/** Whether a package is in a directory of tools, tests or examples. */
export function isToolDirectory(goPackage: string): boolean {
  return TOOLS.test(goPackage);
}

const TOOLS = /(?:^|\/)(?:hack|tests?|tools?|examples?|samples?|docs?|e2e|scripts?|internal\/tools?)(?:\/|$)/;

/**
 * Whether a program has the name of a command line tool. Such a tool can link the operator's packages to install it, or to validate objects
 * as its webhooks do, but it does not run in the cluster.
 */
export function isCommandLineName(name: string): boolean {
  return /^kubectl[-_]|ctl$|(?:^|-)cli$/.test(name);
}
