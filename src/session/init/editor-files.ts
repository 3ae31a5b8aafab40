import { parse } from 'jsonc-parser';
import { objectIn, withEntry } from './json-entry.ts';

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
  const found = objectIn(text);
  if ('problem' in found) return found;
  const { configurations = [] } = found.file;
  if (!Array.isArray(configurations)) return { problem: 'configurations is not a list' };
  if (configurations.some((one) => one?.name === LAUNCH_NAME)) return text;
  return withEntry(text, 'configurations', added);
}

/** The port of devloop's configuration in a launch.json, if it is a number. */
export function launchPort(text: string): number | undefined {
  const { configurations } = parse(text, [], { allowTrailingComma: true });
  const found: { port?: unknown } = configurations.find(
    (one: { name?: unknown } | null) => one?.name === LAUNCH_NAME,
  );
  return typeof found.port === 'number' ? found.port : undefined;
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
