/** What devloop changes in the messages between an editor and delve. Everything else is passed on unchanged. */

/** A message of the Debug Adapter Protocol, with the fields that devloop reads. */
export interface Message {
  seq: number;
  type: 'request' | 'response' | 'event';
  command?: string;
  event?: string;
  arguments?: { terminateDebuggee?: boolean; clientName?: string; clientID?: string };
  request_seq?: number;
  success?: boolean;
  message?: string;
  body?: { restart?: boolean; capabilities?: object };
}

/** Throws if the text is not a message. */
export function parseMessage(text: string): Message {
  const message: unknown = JSON.parse(text);
  if (message === null || typeof message !== 'object' || !('type' in message))
    throw new Error('a message has no type');
  return message as Message;
}

/** The message that delve gets. The controller belongs to devloop, so an editor that disconnects must not end it. */
export function toDelve(message: Message): Message {
  if (message.command !== 'disconnect' || !message.arguments?.terminateDebuggee) return message;
  return { ...message, arguments: { ...message.arguments, terminateDebuggee: false } };
}

/**
 * devloop restarts the controller, not the editor. With these capabilities, an editor would ask delve to restart or end it, or would not
 * begin a new session.
 */
const OWN_CAPABILITIES = { supportsRestartRequest: false, supportTerminateDebuggee: false };

/**
 * The message that the editor gets. `isLeaving`: the editor has asked to disconnect. Otherwise, the end of its session makes it begin a new
 * one, because devloop starts the controller again.
 */
export function toEditor(message: Message, isLeaving: boolean): Message {
  if (message.type === 'response' && message.command === 'initialize' && message.success)
    return { ...message, body: { ...message.body, ...OWN_CAPABILITIES } };
  if (message.event === 'capabilities') {
    const capabilities = { ...message.body?.capabilities, ...OWN_CAPABILITIES };
    return { ...message, body: { ...message.body, capabilities } };
  }
  if (message.event === 'terminated' && !isLeaving)
    return { ...message, body: { ...message.body, restart: true } };
  return message;
}

/**
 * The message that ends an editor's session. With `restart`, the editor begins a new one at once, on the same port and with its
 * breakpoints.
 */
export function terminated(seq: number, restart: boolean): Message {
  return { seq, type: 'event', event: 'terminated', ...(restart ? { body: { restart } } : {}) };
}

/** Answers a request that arrives after the session has ended: only `disconnect` still succeeds. */
export function answerAfterEnd({ seq: request_seq, command = '' }: Message, seq: number): Message {
  const success = command === 'disconnect';
  const why = success ? {} : { message: 'the controller is being replaced' };
  return { seq, type: 'response', request_seq, command, success, ...why };
}
