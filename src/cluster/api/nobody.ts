import type { User } from './kubeconfig-file.ts';

const NONE = { certFile: '', certData: '', keyFile: '', keyData: '' };
/** Sends requests without credentials. */
export const NOBODY: User = {
  ...{ ...NONE, name: '', file: '', token: '', tokenFile: '', username: '', password: '' },
  ...{ impersonateUser: '', asUid: '', asGroups: [], asUserExtra: [] },
};
