import { DevloopError } from '../errors.ts';
import type { Io } from './context/options.ts';
import { sessionHere } from './context/session-here.ts';
import { askSession } from './control/client.ts';
import { variablesOf } from './control/environment.ts';

const LIMIT_MS = 10_000;

export interface EnvOptions {
  /** Whether suites of envtest are to use the session's API server. They delete what they find there. */
  existingCluster: boolean;
  session?: string;
}

/** Says with which variables a program reaches the API server of a running session, past devloop's proxy. */
export async function env({ existingCluster, session: wanted }: EnvOptions, io: Io): Promise<void> {
  const { emit, signal } = io;
  const chosen = await sessionHere(io, { wanted });
  const found = await askSession(chosen, 'environment', {}, { emit, signal, limitMs: LIMIT_MS });
  const { context, isEmbedded } = found;
  if (existingCluster && !isEmbedded) throw notEmbedded(chosen.id, context);
  const variables = {
    ...variablesOf(found),
    ...(existingCluster && { USE_EXISTING_CLUSTER: 'true' }),
  };
  emit({ type: 'environment', session: chosen.id, context, isEmbedded, variables });
}

function notEmbedded(session: string, context: string): DevloopError {
  return new DevloopError(
    'usage.invalid',
    `Session ${session} works in a cluster (context ${context}), and suites with USE_EXISTING_CLUSTER delete what they find there. --existing-cluster is only for sessions of \`devloop up --embedded\`.`,
  );
}
