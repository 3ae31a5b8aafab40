import type { Call, Composite, Element, Expression } from './nodes.ts';
import { writtenValue } from './strings.ts';
import { OTHER, type Reader, type Walk } from './walk.ts';

export const readName: Reader = (walk) => ({ kind: 'name', name: walk.text });
export const readNumber: Reader = (walk) => ({ kind: 'number', text: walk.text });
/** Stands for its first child: the rest, such as parentheses or the type of an assertion, changes no answer. */
export const asFirst: Reader = (walk) => first(walk.all());
/** A part stands for its list, and a function or a type with parameters for the one without, if they have names. */
export const ofNamed: Reader = (walk) => {
  const of = first(walk.all());
  return of.kind === 'name' || of.kind === 'selector' ? of : OTHER;
};

function first([one = OTHER]: Expression[]): Expression {
  return one;
}

export function readCall(walk: Walk): Expression {
  const { file, within, end } = walk;
  const call: Call = { kind: 'call', callee: OTHER, values: [], within, end };
  // The place of an outer call comes before those of the calls in its arguments.
  file.calls.push(call);
  walk.each(() => {
    const { field } = walk;
    if (field === 'function' || field === 'type') call.callee = walk.read();
    else if (field === 'arguments') call.values = walk.all();
    else if (field === 'operand') call.values = [walk.read()];
    else walk.read();
  });
  return call;
}

export function readComposite(walk: Walk): Expression {
  let type: Expression = OTHER;
  let composite: Expression = OTHER;
  walk.each(() => {
    if (walk.field === 'type') type = walk.read();
    else composite = readElements(walk, type);
  });
  return composite;
}

export function readElements(walk: Walk, type: Expression | undefined): Expression {
  const elements: Element[] = [];
  const composite: Composite = { kind: 'composite', type, elements, within: walk.within };
  walk.file.composites.push(composite);
  walk.each(() => {
    if (walk.type !== 'keyed_element') {
      elements.push({ key: undefined, value: walk.read() });
      return;
    }
    const [key, value = OTHER] = walk.all();
    elements.push({ key, value });
  });
  return composite;
}

export function readBinary(walk: Walk): Expression {
  const { sums, comparisons } = walk.file;
  const sides: Expression[] = [];
  let atLeft = 0;
  const operator = walk.each(() => {
    if (sides.push(walk.read()) === 1) atLeft = sums.length - 1;
  });
  const [left = OTHER, right = OTHER] = sides;
  const whole = { kind: 'binary' as const, operator, left, right, within: walk.within };
  if (operator === '==' || operator === '!=') comparisons.push({ left, right });
  // Of several sums, only the whole counts.
  if (operator === '+' && sums[atLeft] === left) sums.splice(atLeft, 1);
  if (operator === '+') sums.push(whole);
  return whole;
}

export function readUnary(walk: Walk): Expression {
  let of = OTHER;
  const operator = walk.each(() => {
    of = walk.read();
  });
  return { kind: 'unary', operator, of };
}

export function readPointer(walk: Walk): Expression {
  return { kind: 'unary', operator: '*', of: first(walk.all()) };
}

export function readIndex(walk: Walk): Expression {
  const [of = OTHER, index] = walk.all();
  if (of.kind !== 'name' && of.kind !== 'selector') return OTHER;
  return index?.kind === 'number' ? { ...of, index: index.text } : of;
}

/** `value.field`, and `pkg.Type`. */
export function readSelector(walk: Walk): Expression {
  const parts = walk.all();
  const last = parts.at(-1);
  return { kind: 'selector', of: first(parts), name: last?.kind === 'name' ? last.name : '' };
}

export function readString(walk: Walk): Expression {
  const value = writtenValue(walk.text);
  walk.file.strings.push(value);
  return { kind: 'string', value };
}
