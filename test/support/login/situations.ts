import type { Situation } from './situation.ts';
import { CONTEXTS, PLACES, TEXTS } from './situations/files.ts';
import { PLUGINS } from './situations/plugins.ts';
import { PROXIES } from './situations/proxies.ts';
import { ADDRESSES, CERTIFICATES, IN_A_POD } from './situations/servers.ts';
import { USERS } from './situations/users.ts';

const GROUPS: Record<string, Situation[]> = {
  address: ADDRESSES,
  certificate: CERTIFICATES,
  pod: IN_A_POD,
  user: USERS,
  plugin: PLUGINS,
  files: PLACES,
  context: CONTEXTS,
  text: TEXTS,
  proxy: PROXIES,
};

export const SITUATIONS: Situation[] = Object.entries(GROUPS).flatMap(([group, all]) =>
  all.map((one) => ({ ...one, name: `${group}: ${one.name}` })),
);
