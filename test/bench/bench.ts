/**
 * `npm run bench [-- start page reviews gateway api plan crashtest embedded loop layouts tunnel relay]`: each figure is a ratio to an anchor that is measured in the same run.
 * Exit codes: 0 all goals reached, 1 a goal missed or a measurement failed, 2 not started (README.md).
 */

import { apiFigures } from './api.ts';
import { crashtestFigures } from './crashtest.ts';
import { embeddedFigures } from './embedded.ts';
import { printTable } from './figures.ts';
import { gatewayFigures } from './gateway.ts';
import { layoutFigures } from './layouts.ts';
import { clusterFigures } from './loop.ts';
import { pageFigures } from './page.ts';
import { planFigures } from './plan.ts';
import { ensurePrerequisites, type Needs } from './prerequisites.ts';
import { relayFigures } from './relay.ts';
import { reviewFigures } from './reviews.ts';
import { startFigures } from './start.ts';
import { tunnelFigures } from './tunnel.ts';

interface Part {
  needs: Needs[];
  measure(): Promise<void>;
}

const PARTS: Record<string, Part> = {
  start: { needs: [], measure: startFigures },
  page: { needs: ['browser'], measure: pageFigures },
  reviews: { needs: ['controller ports'], measure: reviewFigures },
  gateway: { needs: ['HAProxy'], measure: gatewayFigures },
  api: { needs: ['cluster'], measure: apiFigures },
  plan: { needs: ['cluster', 'controller ports'], measure: planFigures },
  crashtest: { needs: ['cluster', 'controller ports'], measure: crashtestFigures },
  embedded: { needs: ['cluster', 'controller ports'], measure: embeddedFigures },
  loop: { needs: ['cluster', 'controller ports', 'Docker'], measure: clusterFigures },
  layouts: { needs: ['cluster', 'controller ports'], measure: layoutFigures },
  tunnel: { needs: ['network', 'autossh'], measure: tunnelFigures },
  relay: { needs: ['cluster'], measure: relayFigures },
};

// A company's certificates in this file would make every Node start more slowly.
delete process.env.NODE_EXTRA_CA_CERTS;
const parts = await prepare(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exit(2);
});
let failed = false;
for (const { measure } of parts) {
  await measure().catch((error: unknown) => {
    failed = true;
    console.error(error);
  });
}
process.exitCode = printTable() && !failed ? 0 : 1;

async function prepare(names: string[]): Promise<Part[]> {
  const chosen = (names.length > 0 ? names : Object.keys(PARTS)).map((name) => {
    if (!Object.hasOwn(PARTS, name))
      throw new Error(`bench has no part ${name}; it has ${Object.keys(PARTS).join(', ')}`);
    return PARTS[name]!;
  });
  await ensurePrerequisites(new Set(chosen.flatMap(({ needs }) => needs)));
  return chosen;
}
