import type { ToolAnnotations } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { NAMESPACE } from '../config/forms.ts';
import { durationMs } from '../phrases.ts';
import type { Io } from '../session/context/options.ts';
import type { EmbeddedSession } from './embedded-session.ts';

/** What a coding agent can call. */
export interface Tool {
  name: string;
  title: string;
  /** What it answers, and when to use it. */
  description: string;
  /** A strict object: an unknown key is refused. */
  input: z.ZodObject;
  annotations: ToolAnnotations;
  /** The command that does the same: hints that repeat it name it. */
  command: string;
  /** Which end of a long answer is kept. */
  keeps: 'first' | 'last';
  /** How to get what is left off. */
  ask: string;
  /** Emits what the command would. Throws what the command would. */
  run(input: never, io: Io, own: EmbeddedSession): Promise<void>;
}

interface ToolOf<Shape extends z.ZodRawShape> extends Omit<Tool, 'input' | 'run'> {
  input: Shape;
  run(input: z.output<z.ZodObject<Shape>>, io: Io, own: EmbeddedSession): Promise<void>;
}

export function tool<Shape extends z.ZodRawShape>({ input, run, ...rest }: ToolOf<Shape>): Tool {
  return { ...rest, input: z.strictObject(input), run };
}

/** Changes nothing. */
export const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
/** Changes something that ends with the session, or that the next call undoes. */
export const CHANGES: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };
/** Interrupts what runs. */
export const INTERRUPTS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  openWorldHint: false,
};

/** Builds or runs code of the checkout, which can do anything: a client that lets other tools pass should ask about these. */
export const RUNS_CODE: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: true };

const LONGEST_NAME = 253;

export const text = (about: string) => z.string().min(1).max(LONGEST_NAME).describe(about).optional();
export const flag = (about: string) => z.literal(true).describe(about).optional();
export const namespace = z.string().regex(new RegExp(NAMESPACE.pattern!)).describe('namespace').optional();
export const since = z
  .string()
  .regex(/^\d{1,6}[smh]$/)
  .describe('only from this last time, such as 30s, 10m or 2h')
  .optional();
export const session = z
  .string()
  .regex(/^[0-9a-f]{8}$/)
  .describe('id of a session of this checkout, if it has several')
  .optional();
export const ids = z
  .array(z.string().regex(/^(?:[rck]-)?\d{1,15}$/))
  .min(1)
  .max(10)
  .describe('ids as they are listed');

/** The earliest time, in ms since 1970. */
export function sinceTime(age: string | undefined): { since?: number } {
  const ms = age === undefined ? undefined : durationMs(age);
  return ms === undefined ? {} : { since: Date.now() - ms };
}
