import { note } from './notice.ts';

/** What `devloop mcp` says beside the answers of the commands. */
export const MCP = {
  /** The session that an agent has started is not ready after `seconds`, and goes on. */
  'mcp.starting': note<{ seconds: number }>(
    ({ seconds }) => `The session is still starting after ${seconds} s. Call start again to go on waiting.`,
  ),
  /** The session that an agent has started was ended, and its API server removed. */
  'mcp.ended': note<object>(() => 'The session has ended, and its API server is gone.'),
  /** The session that an agent has started has ended by itself; why is in the events before. */
  'mcp.gone': note<object>(() => 'The session that this server had started has ended by itself.'),
};
