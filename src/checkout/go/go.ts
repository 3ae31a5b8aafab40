import type { Language } from '../language.ts';
import { goTool } from './build-tool.ts';
import { exportTest } from './export-test.ts';
import { prepareGo } from './kept-note.ts';
import { namedByPackages } from './linked-variables.ts';
import { judgeToolchain } from './local-toolchain.ts';
import { goProgram } from './program.ts';
import { readGoSources } from './read-sources.ts';

export const GO: Language = {
  name: 'Go',
  signs: ['go.mod', 'go.work'],
  isBelowRoot: true,
  sources: /\.go$/,
  files: /\.go$|^go\.mod$/,
  findsTexts: true,
  read: readGoSources,
  prepare: prepareGo,
  program: goProgram,
  toolchain: judgeToolchain,
  tool: goTool,
  readsKubeconfigList: true,
  canDebug: true,
  variables: namedByPackages,
  exportTest,
};
