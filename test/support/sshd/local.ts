import type { LocalAccount } from '../../../src/route/ssh/settings.ts';

/** A machine without a home directory, so that the real one's OpenSSH configuration is not read. */
export const LOCAL: LocalAccount = {
  home: '/nowhere',
  accountHome: '/nowhere',
  user: 'dev',
  uid: 1000,
  hostname: 'here',
  env: {},
};
