import { accessSync, constants, statSync } from 'node:fs';
import { isText } from './header.ts';
import type { Cluster, User } from './kubeconfig-file.ts';
import { proxyUrlOf } from './proxy-choice.ts';

const MODES = ['Never', 'IfAvailable', 'Always'];

/** Why kubectl refuses these entries before it connects to anything. */
export function problemsOf(cluster: Cluster, user: User): string[] {
  return [...clusterProblems(cluster), ...userProblems(user), ...execProblems(user)];
}

function clusterProblems({ server, caFile, caData, skipTLSVerify, proxyUrl }: Cluster): string[] {
  const isPlain = /^http:/i.test(server);
  return [
    ...(caFile !== '' && caData !== '' ? ['its cluster has certificate-authority and also its data'] : []),
    ...unreadable('certificate-authority', caFile),
    ...(!isPlain && skipTLSVerify && (caFile !== '' || caData !== '')
      ? ['its cluster has a certificate authority, and insecure-skip-tls-verify']
      : []),
    ...(proxyUrl !== '' && proxyUrlOf(proxyUrl) === undefined
      ? ['the proxy-url of its cluster is not a URL with http, https or socks5']
      : []),
  ];
}

function userProblems(user: User): string[] {
  const { token, tokenFile, username, password } = user;
  const impersonates = user.asUid !== '' || user.asGroups.length > 0 || user.asUserExtra.length > 0;
  const hasPassword = username !== '' || password !== '';
  return [
    ...certificateProblems(user),
    ...(hasPassword && (token !== '' || (username !== '' && tokenFile !== ''))
      ? ['its user has a token and also a password']
      : []),
    ...(impersonates && user.impersonateUser === ''
      ? ['its user has as-uid, as-groups or as-user-extra without as']
      : []),
    ...(isText(token) ? [] : ['the token of its user contains a line break or another control character']),
  ];
}

function certificateProblems({ certFile, certData, keyFile, keyData }: User): string[] {
  if (certFile === '' && certData === '') return [];
  return [
    ...(certFile !== '' && certData !== '' ? ['its user has client-certificate and also its data'] : []),
    ...(keyFile !== '' && keyData !== '' ? ['its user has client-key and also its data'] : []),
    ...(keyFile === '' && keyData === '' ? ['its user has a client certificate without a key'] : []),
    ...unreadable('client-certificate', certFile),
    ...unreadable('client-key', keyFile),
  ];
}

function execProblems({ exec, authProvider }: User): string[] {
  if (exec === undefined) return [];
  return [
    ...(authProvider === undefined ? [] : ['its user has exec and also auth-provider']),
    ...(exec.command === '' ? ['the exec entry of its user has no command'] : []),
    ...(exec.apiVersion === '' ? ['the exec entry of its user has no apiVersion'] : []),
    ...(exec.env.some(({ name }) => name === '') ? ['a variable in the exec entry has no name'] : []),
    ...(MODES.includes(exec.interactiveMode)
      ? []
      : [`the interactiveMode of its exec entry is not one of ${MODES.join(', ')}`]),
  ];
}

function unreadable(setting: string, file: string): string[] {
  if (file === '') return [];
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isDirectory() ? [`the file of ${setting} is a directory`] : [];
  } catch (error) {
    return [`the file of ${setting} cannot be read: ${(error as Error).message}`];
  }
}
