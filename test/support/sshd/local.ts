import type { Local } from '../../../src/route/ssh/expand.ts';

/** A machine without a home directory: nothing of the real one's OpenSSH configuration is met. */
export const LOCAL: Local = {
  home: '/nowhere',
  accountHome: '/nowhere',
  user: 'dev',
  uid: 1000,
  hostname: 'here',
  env: {},
};
