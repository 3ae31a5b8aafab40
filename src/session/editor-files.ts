import {
  findNodeAtLocation,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
  stripComments,
} from 'jsonc-parser';

export const LAUNCH_NAME = 'devloop: attach';

/**
 * A configuration for the Go extension of VS Code. Unlike dlv-dap, its other debug adapter cannot continue when a new debugging session
 * begins.
 */
function launchConfiguration(port: number): object {
  return {
    name: LAUNCH_NAME,
    type: 'go',
    debugAdapter: 'dlv-dap',
    request: 'attach',
    mode: 'remote',
    host: '127.0.0.1',
    port,
  };
}

/**
 * The text of a launch.json with devloop's configuration added, unless the file already has a configuration of the same name. Comments are
 * kept. If the file cannot be extended, the result is the reason.
 */
export function withLaunch(before: string | undefined, port: number): string | { problem: string } {
  const added = launchConfiguration(port);
  const text = before?.trim() ? before : '';
  if (text === '') return `${JSON.stringify({ version: '0.2.0', configurations: [added] }, null, 2)}\n`;
  const errors: ParseError[] = [];
  const file: unknown = parse(text, errors, { allowTrailingComma: true });
  if (errors[0] !== undefined)
    return { problem: `${printParseErrorCode(errors[0].error)} in line ${lineAt(text, errors[0].offset)}` };
  if (file === null || typeof file !== 'object' || Array.isArray(file))
    return { problem: 'it is not an object' };
  const { configurations = [] } = file as { configurations?: unknown };
  if (!Array.isArray(configurations)) return { problem: 'configurations is not a list' };
  if (configurations.some((one) => one?.name === LAUNCH_NAME)) return text;
  return inserted(text, 'configurations' in file ? added : [added]);
}

/** The port of devloop's configuration in a launch.json, if it is a number. */
export function launchPort(text: string): number | undefined {
  const { configurations } = parse(text, [], { allowTrailingComma: true });
  const found: { port?: unknown } = configurations.find(
    (one: { name?: unknown } | null) => one?.name === LAUNCH_NAME,
  );
  return typeof found.port === 'number' ? found.port : undefined;
}

/**
 * Adds the value at the end of the list of configurations, or the list to the file. No library does this without changing something else in
 * the file.
 */
function inserted(text: string, value: object): string {
  const root = parseTree(text, [], { allowTrailingComma: true })!;
  const list = findNodeAtLocation(root, ['configurations']);
  const into = list ?? root;
  const last = into.children?.at(-1);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const unit = indentation(text);
  const indent = unit.repeat(list ? 2 : 1);
  const name = list ? '' : '"configurations": ';
  const lines = `${name}${JSON.stringify(value, null, unit)}`.split('\n').map((line) => indent + line);
  // Comments after the last entry belong to it, so the new one stands right before the closing bracket.
  const from = last ? last.offset + last.length : into.offset + 1;
  const end = into.offset + into.length - 1;
  const between = text.slice(from, end);
  const comma = last && !stripComments(between).includes(',') ? ',' : '';
  const kept = `${comma}${between.trimEnd()}`;
  return `${text.slice(0, from)}${kept}${eol}${lines.join(eol)}${eol}${unit.repeat(list ? 1 : 0)}${text.slice(end)}`;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The indentation of the first indented line. */
function indentation(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '    ';
}

/** The text of a `.run/*.run.xml`, all of which GoLand reads. With this one, it leaves the controller running when it disconnects. */
export function goLandConfiguration(port: number): string {
  return `<component name="ProjectRunConfigurationManager">
  <configuration default="false" name="${LAUNCH_NAME}" type="GoRemoteDebugConfigurationType" factoryName="Go Remote" port="${port}">
    <option name="disconnectOption" value="LEAVE" />
    <disconnect value="LEAVE" />
    <method v="2" />
  </configuration>
</component>
`;
}

export function goLandPort(text: string): number | undefined {
  const port = /\sport="(\d+)"/.exec(text)?.[1];
  return port === undefined ? undefined : Number(port);
}
