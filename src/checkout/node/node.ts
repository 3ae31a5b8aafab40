import type { Checkout } from '../files.ts';
import { readDockerfiles } from '../image/workload-image.ts';
import type { Language } from '../language.ts';
import { reading } from '../text-questions.ts';
import { isNode } from './command.ts';
import { LOCKS } from './installed.ts';
import { callsKubernetes, packagesIn } from './packages.ts';
import { nodeProgram } from './program.ts';
import { judgeNode } from './toolchain.ts';

const SOURCES = /\.[cm]?[jt]s$/;

export const NODE: Language = {
  name: 'Node',
  signs: ['package.json'],
  // Websites and tools have a package.json, too.
  detect: async (checkout) =>
    packagesIn(checkout).some(callsKubernetes) || (await isStartedByDockerfiles(checkout)),
  workspace: {
    signs: [
      { file: 'package.json', says: /"workspaces"\s*:/ },
      { file: 'pnpm-workspace.yaml', says: /^packages\s*:/m },
    ],
    locks: LOCKS,
  },
  sources: SOURCES,
  files: /\.[cm]?[jt]s$|^package\.json$/,
  read: reading({
    sources: SOURCES,
    name: /"name"\s*:\s*"(?:@[\w.-]+\/)?([\w.-]+)"/,
    inPod: /\bloadFromCluster\s*\(/,
    anywhere: /\bloadFrom(?:Default|File|String|Options)\s*\(/,
  }),
  program: nodeProgram,
  toolchain: judgeNode,
};

/** Whether Node is what the Dockerfiles start. A website beside an operator has a Dockerfile of its own. */
async function isStartedByDockerfiles(checkout: Checkout): Promise<boolean> {
  const read = await readDockerfiles(checkout, { wanted: [], builds: [] });
  const programs = read.flatMap((one) => one.programs);
  return programs.length > 0 && programs.every(isNode);
}
