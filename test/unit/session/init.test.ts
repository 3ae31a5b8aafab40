import { chmod, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { expect, test } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { InitOptions } from '../../../src/session/context/options.ts';
import { withLaunch } from '../../../src/session/init/editor-files.ts';
import { init } from '../../../src/session/init.ts';
import { directoryWith } from '../controller/support/places.ts';

const ATTACH = {
  name: 'devloop: attach',
  type: 'go',
  debugAdapter: 'dlv-dap',
  request: 'attach',
  mode: 'remote',
  host: '127.0.0.1',
  port: 2345,
};

async function checkout(files: Record<string, string> = {}) {
  const cwd = await directoryWith({ 'go.mod': 'module x\n', ...files });
  const run = async (options: Partial<InitOptions> = {}): Promise<DevloopEvent[]> => {
    const events: DevloopEvent[] = [];
    const emit = (event: DevloopEvent): void => void events.push(event);
    const io = { emit, signal: new AbortController().signal, env: {}, cwd };
    await init({ ide: 'vscode', port: 2345, ...options }, io);
    return events;
  };
  const read = (file: string): Promise<string> => readFile(join(cwd, file), 'utf8');
  return { cwd, run, read };
}

test.each(['vscode', 'goland'] as const)(
  'a file for %s is written once, and then left unchanged',
  async (ide) => {
    const { run, read } = await checkout();
    const file = ide === 'vscode' ? '.vscode/launch.json' : '.run/devloop.run.xml';
    expect(await run({ ide })).toMatchObject([{ code: 'init.written', values: { file } }]);
    const text = await read(file);
    expect(text).toContain('2345');
    expect(await run({ ide })).toMatchObject([{ code: 'init.unchanged', values: { file } }]);
    // Editors would find no debugger there.
    const hint = expect.stringMatching(/up --debug$/);
    const values = { file, itsPort: 2345, wanted: 9 };
    expect(await run({ ide, port: 9 })).toMatchObject([{ code: 'init.other-port', values, hint }]);
    expect(await read(file)).toBe(text);
  },
);

test('what is there and cannot be read is refused with a next step', async () => {
  const { cwd, run } = await checkout({ '.run': '' });
  await mkdir(join(cwd, '.vscode/launch.json'), { recursive: true });
  for (const ide of ['vscode', 'goland'] as const)
    await expect(run({ ide })).rejects.toMatchObject({
      ...{ code: 'config.invalid', message: expect.not.stringMatching(/EISDIR|ENOTDIR/) },
      hint: expect.stringContaining('run the command again'),
    });
});

test('the file is in the root of the checkout, wherever the command runs', async () => {
  const { cwd, read } = await checkout({ '.git/HEAD': '' });
  await mkdir(join(cwd, 'cmd'));
  await init(
    { ide: 'vscode', port: 1 },
    { emit: () => {}, signal: new AbortController().signal, env: {}, cwd: join(cwd, 'cmd') },
  );
  expect(JSON.parse(await read('.vscode/launch.json'))).toEqual({
    version: '0.2.0',
    configurations: [{ ...ATTACH, port: 1 }],
  });
});

test('nothing is written where there is no checkout', async () => {
  const { cwd, run } = await checkout();
  await rm(join(cwd, 'go.mod'));
  await expect(run()).rejects.toMatchObject({
    code: 'target.no-operator',
    message: expect.stringContaining(cwd),
  });
  expect(await readdir(cwd)).toEqual([]);
});

const COMMENTED = `{
\t// Use IntelliSense.
\t"version": "0.2.0",
\t"configurations": [
\t\t{ "name": "mine", "type": "go", /* as it was */ "request": "launch" },
\t],
\t"compounds": []
}
`;

test('comments, order and other configurations stay', () => {
  const text = withLaunch(COMMENTED, 2345) as string;
  const lines = (of: string): string[] => of.split('\n').map((line) => line.trim().replace(/,$/, ''));
  expect(lines(text)).toEqual(expect.arrayContaining(lines(COMMENTED)));
  expect(text).toContain('\n\t\t\t"mode": "remote"');
  expect(parse(text, [], { allowTrailingComma: true })).toEqual({
    version: '0.2.0',
    configurations: [{ name: 'mine', type: 'go', request: 'launch' }, ATTACH],
    compounds: [],
  });
});

const FOLLOWED = [
  '{ "name": "mine" } // starts the old manager',
  '{ "name": "mine" }, // starts the old manager, as before',
  '{ "name": "mine" }\n    // { "name": "off" },\n  ',
  '// the list is empty\n  ',
];

test.each(FOLLOWED)('comments stay between the entries where they were: %s', (entries) => {
  const before = `{\n  "configurations": [\n    ${entries}\n  ]\n}\n`;
  const text = withLaunch(before, 2345) as string;
  const own = text.indexOf('"devloop: attach"');
  const comments = entries.match(/\/\/.*/g)!;
  for (const comment of comments) expect(text.slice(0, own)).toContain(comment);
  const mine = entries.includes('mine') ? [{ name: 'mine' }] : [];
  expect(parse(text, [], { allowTrailingComma: true }).configurations).toEqual([...mine, ATTACH]);
});

test.each([
  ['nothing', ''],
  ['an empty object', '{}'],
  ['no configuration', '{"version":"0.2.0","configurations":[]}'],
  ['lines of Windows', '{\r\n  "configurations": []\r\n}\r\n'],
])('%s gets the configuration', (_, before) => {
  const text = withLaunch(before, 2345) as string;
  expect(parse(text).configurations).toEqual([ATTACH]);
  expect(text.split('\n').length > 5 || before === '').toBe(true);
});

test.each([
  ['no JSON', '{"configurations": ['],
  ['a list', '[]'],
  ['a word', '"x"'],
  ['configurations of another kind', '{"configurations": {}}'],
])('%s is left as it is', async (_, text) => {
  const { cwd, run, read } = await checkout();
  await mkdir(join(cwd, '.vscode'));
  await writeFile(join(cwd, '.vscode/launch.json'), text);
  await expect(run()).rejects.toMatchObject({ code: 'config.invalid' });
  expect(await read('.vscode/launch.json')).toBe(text);
});

test('a link to the file stays a link, and its permissions stay', async () => {
  const { cwd, run, read } = await checkout({
    'shared.json': '{"version": "0.2.0"}',
    '.vscode/settings.json': '{}',
  });
  await symlink('../shared.json', join(cwd, '.vscode/launch.json'));
  await chmod(join(cwd, 'shared.json'), 0o600);
  await run();
  expect(JSON.parse(await read('shared.json')).configurations).toEqual([ATTACH]);
  expect((await lstat(join(cwd, '.vscode/launch.json'))).isSymbolicLink()).toBe(true);
  expect((await stat(join(cwd, 'shared.json'))).mode & 0o777).toBe(0o600);
  expect((await readdir(cwd)).sort()).toEqual(['.vscode', 'go.mod', 'shared.json']);
});

test('nothing is written through a link that leads out of the checkout', async () => {
  const outside = await directoryWith({ profile: 'mine\n' });
  const refused = { code: 'files.not-written', message: expect.stringContaining(outside) };
  const ofFile = await checkout();
  await symlink(join(outside, 'profile'), join(ofFile.cwd, 'AGENTS.md'));
  await expect(ofFile.run({ agents: true })).rejects.toMatchObject(refused);
  const ofDirectory = await checkout();
  await symlink(outside, join(ofDirectory.cwd, '.vscode'));
  await expect(ofDirectory.run()).rejects.toMatchObject(refused);
  const ofSchema = await checkout({ 'devloop.yaml': 'port: 9000\n' });
  await symlink(join(outside, 'profile'), join(ofSchema.cwd, 'devloop.schema.json'));
  await expect(ofSchema.run()).rejects.toMatchObject(refused);
  expect(await readdir(outside)).toEqual(['profile']);
  expect(await readFile(join(outside, 'profile'), 'utf8')).toBe('mine\n');
});

test('devloop.yaml names its schema in the first line: the installed one, or a copy that is renewed', async () => {
  const copied = await checkout({ 'devloop.yaml': 'port: 9000\n' });
  const values = { file: 'devloop.yaml', schema: 'devloop.schema.json' };
  expect(await copied.run()).toContainEqual(expect.objectContaining({ code: 'init.schema', values }));
  const linked = '# yaml-language-server: $schema=./devloop.schema.json\nport: 9000\n';
  expect(await copied.read('devloop.yaml')).toBe(linked);
  const schema = await copied.read('devloop.schema.json');
  expect(JSON.parse(schema)).toMatchObject({ properties: { port: { maximum: 65_535 } } });
  await writeFile(join(copied.cwd, 'devloop.schema.json'), '{}');
  await copied.run();
  expect([await copied.read('devloop.schema.json'), await copied.read('devloop.yaml')]).toEqual([
    schema,
    linked,
  ]);
  const path = 'node_modules/kube-devloop/schema/devloop.schema.json';
  const installed = await checkout({ 'devloop.yaml': '', [path]: schema });
  await installed.run();
  expect(await installed.read('devloop.yaml')).toBe(`# yaml-language-server: $schema=./${path}\n`);
  await expect(installed.read('devloop.schema.json')).rejects.toThrow();
  const own = await checkout({ 'devloop.yaml': '# yaml-language-server: $schema=./mine.json\n' });
  await own.run();
  expect(await own.read('devloop.yaml')).toBe('# yaml-language-server: $schema=./mine.json\n');
});

test('devloop.yaml is linked to its schema without an editor, too', async () => {
  const { cwd, run, read } = await checkout({ 'devloop.yaml': 'port: 9000\n' });
  const values = { file: 'devloop.yaml', schema: 'devloop.schema.json' };
  for (const _ of ['first', 'again'])
    expect(await run({ ide: undefined })).toMatchObject([{ code: 'init.schema', values }]);
  expect(await read('devloop.yaml')).toMatch(/^# yaml-language-server: .*\nport/);
  expect(await readdir(cwd)).toEqual(['devloop.schema.json', 'devloop.yaml', 'go.mod']);
});

const AGENT_FILES = ['AGENTS.md', '.mcp.json', '.vscode/mcp.json'] as const;
const SERVER = { command: 'devloop', args: ['mcp'] };
const JSONC = { allowTrailingComma: true };
const agents = { ide: undefined, agents: true };

test('the commands that coding agents are told of are there', async () => {
  const { run, read } = await checkout();
  await run(agents);
  const commands = await readFile(join(import.meta.dirname, '../../../docs/commands.md'), 'utf8');
  const told = [...(await read('AGENTS.md')).matchAll(/`devloop ([a-z ]*[a-z])/g)].map(([, name]) => name);
  expect(told).toContain('reviews list');
  for (const name of told) expect(commands).toContain(`\n## devloop ${name!.split(' ')[0]}\n`);
});

test('coding agents are told of devloop once, in three files', async () => {
  const { run, read } = await checkout();
  const written = AGENT_FILES.map((file) => ({ code: 'init.agents', values: { file } }));
  expect(await run(agents)).toMatchObject(written);
  const texts = await Promise.all(AGENT_FILES.map(read));
  expect(texts[0]).toContain('reviews_list');
  expect(JSON.parse(texts[1]!)).toEqual({ mcpServers: { devloop: SERVER } });
  expect(JSON.parse(texts[2]!)).toEqual({ servers: { devloop: { type: 'stdio', ...SERVER } } });
  expect(await run(agents)).toMatchObject(AGENT_FILES.map(() => ({ type: 'note', code: 'init.kept' })));
  expect(await Promise.all(AGENT_FILES.map(read))).toEqual(texts);
});

test('what the files for agents have already stays as it is, comments included', async () => {
  const OTHER = { command: 'other' };
  const before = {
    'AGENTS.md': '# Rules\r\n\r\nBe kind.\r\n',
    '.mcp.json': '{"mcpServers":{"devloop":{"command":"npx","args":["devloop","mcp"]}}}',
    '.vscode/mcp.json':
      '{\n\t// Ours.\n\t"servers": {\n\t\t"other": { "command": "other" }, // as before\n\t},\n\t"inputs": []\n}\n',
  };
  const { run, read } = await checkout(before);
  const codes = (await run(agents)).map((event) => 'code' in event && event.code);
  expect(codes).toEqual(['init.agents', 'init.kept', 'init.agents']);
  expect((await read('AGENTS.md')).startsWith(before['AGENTS.md'])).toBe(true);
  expect((await read('AGENTS.md')).replaceAll('\r\n', '')).not.toContain('\n');
  expect(await read('.mcp.json')).toBe(before['.mcp.json']);
  const vscode = await read('.vscode/mcp.json');
  for (const comment of ['// Ours.', '"other": { "command": "other" }, // as before'])
    expect(vscode).toContain(comment);
  const devloop = { type: 'stdio', ...SERVER };
  expect(parse(vscode, [], JSONC)).toEqual({ servers: { other: OTHER, devloop }, inputs: [] });
  expect(await run(agents)).toMatchObject(AGENT_FILES.map(() => ({ code: 'init.kept' })));
});

test('the section for agents is renewed in its place, and what is around it stays', async () => {
  const { cwd, run, read } = await checkout();
  await run(agents);
  const section = await read('AGENTS.md');
  await writeFile(
    join(cwd, 'AGENTS.md'),
    `# Mine\n${section.replace('reviews_list', 'old_tool')}\nMore of mine.\n`,
  );
  await run(agents);
  expect(await read('AGENTS.md')).toBe(`# Mine\n${section}\nMore of mine.\n`);
});

test.each([
  ['AGENTS.md', '<!-- devloop: end -->\n'],
  ['.mcp.json', '{"mcpServers": {'],
  ['.mcp.json', '[]'],
  ['.vscode/mcp.json', '{"servers": []}'],
])('a %s that cannot be extended is left as it is, with what to add by hand: %s', async (file, text) => {
  const { run, read } = await checkout({ [file]: text });
  const warned = (await run(agents)).filter(({ type }) => type === 'warning');
  expect(warned).toMatchObject([
    { code: 'init.by-hand', values: { file }, hint: expect.stringContaining('devloop') },
  ]);
  expect(await read(file)).toBe(text);
});
