import { expect, test } from 'vitest';
import {
  answerAfterEnd,
  type Message,
  parseMessage,
  terminated,
  toDelve,
  toEditor,
} from '../../../src/debugger/messages.ts';

const response = (command: string, body: object): Message => ({
  seq: 0,
  type: 'response',
  command,
  request_seq: 1,
  success: true,
  body,
});
const event = (name: string, body?: object): Message => ({
  seq: 0,
  type: 'event',
  event: name,
  ...(body && { body }),
});

test('an editor that leaves cannot end the controller', () => {
  const leave: Message = {
    seq: 1,
    type: 'request',
    command: 'disconnect',
    arguments: { terminateDebuggee: true },
  };
  expect(toDelve(leave).arguments).toEqual({ terminateDebuggee: false });
  expect(
    toEditor(event('capabilities', { capabilities: { supportTerminateDebuggee: true } }), false).body,
  ).toEqual({ capabilities: { supportTerminateDebuggee: false, supportsRestartRequest: false } });
});

test('an editor begins a new session where it would ask delve to restart the program', () => {
  const capabilities = { supportsRestartRequest: true, supportsConfigurationDoneRequest: true };
  expect(toEditor(response('initialize', capabilities), false).body).toMatchObject({
    supportsRestartRequest: false,
    supportsConfigurationDoneRequest: true,
  });
});

test('the end of a controller is the beginning of another session, unless the editor leaves', () => {
  expect(toEditor(event('terminated'), false).body).toEqual({ restart: true });
  expect(toEditor(event('terminated'), true).body).toBeUndefined();
  expect(terminated(1, true)).toMatchObject({ event: 'terminated', body: { restart: true } });
  expect(terminated(1, false).body).toBeUndefined();
});

test('after the end an editor can only be disconnected', () => {
  const ask = (command: string): Message => ({ seq: 7, type: 'request', command });
  expect(answerAfterEnd(ask('disconnect'), 2)).toMatchObject({ request_seq: 7, success: true });
  expect(answerAfterEnd(ask('threads'), 2)).toMatchObject({ request_seq: 7, success: false });
});

test('everything else passes as it is', () => {
  const others = [event('stopped', { threadId: 1 }), response('threads', { threads: [] })];
  for (const other of others) expect(toEditor(other, false)).toBe(other);
  for (const other of others) expect(toDelve(other)).toBe(other);
});

test.each(['null', '[]', '"x"', '{}', '{'])('%s is no message', (text) => {
  expect(() => parseMessage(text)).toThrow();
});
