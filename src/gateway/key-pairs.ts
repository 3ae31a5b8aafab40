import { createSecureContext, type SecureContext } from 'node:tls';
import { DevloopError, messageOf } from '../errors.ts';

/** The key pairs that the gateway serves with, by server name. */
export interface KeyPairs {
  present(serverName: string, pair: { certificate: string; key: string }): void;
  isFirst(serverName: string): boolean;
  /** The one for the name, else the first that was presented. */
  contextFor(serverName: string): SecureContext | undefined;
}

export function createKeyPairs(): KeyPairs {
  const contexts = new Map<string, SecureContext>();
  return {
    present(serverName, pair) {
      // A Map keeps the place of a key that is set again, so that the first stays the first.
      contexts.set(serverName.toLowerCase(), contextOf(serverName, pair));
    },
    isFirst: (serverName) => contexts.keys().next().value === serverName.toLowerCase(),
    contextFor: (serverName) => contexts.get(serverName.toLowerCase()) ?? contexts.values().next().value,
  };
}

function contextOf(serverName: string, pair: { certificate: string; key: string }): SecureContext {
  try {
    return createSecureContext({ cert: pair.certificate, key: pair.key });
  } catch (error) {
    throw new DevloopError(
      'certificate.invalid',
      `The key pair for ${serverName} cannot be served: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
