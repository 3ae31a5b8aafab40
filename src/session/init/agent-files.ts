import { objectIn, withEntry } from './json-entry.ts';

/** A file in which coding agents look. */
export interface AgentFile {
  name: string;
  /** The text with what devloop adds, or why that is not possible. `before`: undefined if there is no file. */
  change(before: string | undefined): string | { problem: string };
  /** What belongs into the file, for those who add it by hand. */
  byHand: string;
}

const SERVER = { command: 'devloop', args: ['mcp'] };
const NAME = 'devloop';
const BEGIN = '<!-- devloop: `devloop init --agents` renews what follows, up to the next such line -->';
const END = '<!-- devloop: end -->';
const SECTION = `## Run this operator: devloop

devloop runs this operator on this machine, and records its webhook reviews, its reconciles and its calls to the API server. Use the tools of the MCP server \`devloop\`, or commands in a shell (\`devloop --help\`): \`start\` is \`devloop up --embedded --detach\`, \`stop\` is \`devloop down --embedded\`, and the others have the names of the tools, such as \`devloop reviews list\`.

1. \`start\` starts an API server of this checkout's own, and builds and runs the operator against it. Use kubectl with the kubeconfig that it names. Nothing runs Pods there, so no Deployment becomes ready.
2. After an edit, \`wait\` returns when the new code serves, or with what the compiler says.
3. Apply an object, then look: \`reviews_list\` and \`reviews_show\` (why was it denied or changed?), \`reconciles_list\` and \`reconciles_show\` (what did the controller do, and why?), \`timeline\` (the life of one object), \`logs\`, \`rbac\` (which rule is missing?).
4. \`reviews_replay\` and \`reviews_verify\` say which answers an edit has changed.
5. \`stop\` removes the API server.

Do not run \`devloop up\` or \`devloop down\` without \`--embedded\`: they change a cluster that others use. Ask for it instead.`;

export function agentFiles(): AgentFile[] {
  return [
    { name: 'AGENTS.md', change: withSection, byHand: SECTION },
    serversFile('.mcp.json', 'mcpServers', SERVER),
    serversFile('.vscode/mcp.json', 'servers', { type: 'stdio', ...SERVER }),
  ];
}

function serversFile(name: string, key: string, server: object): AgentFile {
  const whole = JSON.stringify({ [key]: { [NAME]: server } }, null, 2);
  return {
    name,
    byHand: whole,
    change(before) {
      if (!before?.trim()) return `${whole}\n`;
      const found = objectIn(before);
      if ('problem' in found) return found;
      const { [key]: servers = {} } = found.file;
      if (typeof servers !== 'object' || servers === null || Array.isArray(servers))
        return { problem: `${key} is not an object` };
      // Whatever it is, it is the user's.
      return Object.hasOwn(servers, NAME) ? before : withEntry(before, key, server, NAME);
    },
  };
}

function withSection(before = ''): string | { problem: string } {
  const eol = before.includes('\r\n') ? '\r\n' : '\n';
  const section = [BEGIN, SECTION, END].join('\n').replaceAll('\n', eol);
  const from = before.indexOf(BEGIN);
  const end = before.indexOf(END);
  if (from < 0 && end < 0)
    return `${before.trimEnd()}${before.trim() === '' ? '' : eol + eol}${section}${eol}`;
  if (from < 0 || end < from)
    return { problem: 'one of the two lines around the section of devloop is missing' };
  return before.slice(0, from) + section + before.slice(end + END.length);
}
