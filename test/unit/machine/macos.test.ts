/** What devloop reads from the tools of macOS. procps and lsof on Linux print the same, so these tests can run here. */
import { spawn, spawnSync } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import {
  firstOfLsof,
  groupListensOn,
  groupsOfPs,
  membersOfPs,
  portOwner,
  startOfPs,
  startTimeOf,
} from '../../../src/machine/macos.ts';

const has = (program: string): boolean => spawnSync(program, ['-h']).error === undefined;

it('finds the groups of what a process has started', () => {
  const output = `
    1     0     1
   10     1    10
   11    10    11
   12    11    11
   13     1    13
  `;
  expect(groupsOfPs(output, 10)).toEqual([10, 11]);
  expect(groupsOfPs(output, 99)).toEqual([]);
});

it('finds what still runs of a group', () => {
  const output = `
   10    10 Z
   11    10 S+
   12    12 Ss
  `;
  expect(membersOfPs(output, 10)).toEqual([11]);
});

it.each([
  ['S    Sun Nov 22 06:35:23 2026    \n', 'Sun Nov 22 06:35:23 2026'],
  ['Ss+  Mon Feb  2 16:05:07 2026\n', 'Mon Feb 2 16:05:07 2026'],
  ['Z    Sun Nov 22 06:35:23 2026\n', undefined],
  ['', undefined],
])('ps -o stat= -o lstart= prints %j', (output, start) => {
  expect(startOfPs(output)).toBe(start);
});

it('the output of lsof -F pc is read', () => {
  expect(firstOfLsof('p812\ncmanager\nf7\np900\ncother\n')).toEqual({ pid: 812, name: 'manager' });
  expect(firstOfLsof('')).toBeUndefined();
});

it.skipIf(!has('ps'))('the start of a process reads the same whatever the language and the time zone', () => {
  const start = startTimeOf(process.pid);
  expect(start).toMatch(/^[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ \d\d:\d\d:\d\d \d{4}$/);
  const zone = process.env.TZ;
  onTestFinished(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  process.env.TZ = 'Pacific/Kiritimati';
  expect(startTimeOf(process.pid)).toBe(start);
  expect(startTimeOf(4_194_304)).toBeUndefined();
});

it.skipIf(!has('lsof'))('a port belongs to the process, and to the group, that listens on it', async () => {
  const script =
    "require('node:net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const child = spawn(process.execPath, ['-e', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const port = Number(await new Promise((resolve) => child.stdout.once('data', resolve)));
  expect(await portOwner(port)).toEqual({ pid: child.pid, name: expect.stringMatching(/\S/) });
  expect(await groupListensOn(child.pid!, port)).toBe(true);
  expect(await groupListensOn(1, port)).toBe(false);
});
