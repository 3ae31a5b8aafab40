import type { BuildTool } from '../language.ts';
import { goEnvironment } from './build-command.ts';
import { goBuildId } from './build-id.ts';
import {
  createBuildProgress,
  isGoBuild,
  packagesToCompile,
  verbose,
  withoutProgress,
} from './build-progress.ts';
import { noteBuild } from './kept-note.ts';
import { takeOut } from './overlay.ts';
import { goAdvice } from './toolchain.ts';

export const goTool: BuildTool = {
  builds: isGoBuild,
  environment: (temporary) => ({ GOTMPDIR: temporary, ...goEnvironment() }),
  verbose,
  progress: createBuildProgress,
  withoutProgress,
  packagesToCompile,
  advice: goAdvice,
  contentOf: goBuildId,
  noteBuild,
  takeOut,
};
