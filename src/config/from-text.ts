import type { Shape } from './kinds.ts';
import { EXPECTED_ROUTE, routeChoice, routesLike } from './route-choice.ts';

export type FromText = { value: unknown } | Refused;

interface Refused {
  /** Completes `Expected …`. */
  expected: string;
  /** What may have been meant. */
  known?: readonly string[];
}

/** Reads the value of a flag or a variable, with the conditions of devloop.yaml. Of a list, the text is one entry. */
export function fromText(shape: Shape, text: string): FromText {
  switch (shape.is) {
    case 'text':
      return shape.form === undefined || shape.form.fits(text) ? { value: text } : shape.form;
    case 'texts':
      return { value: [text] };
    case 'one or more':
      return shape.form.fits(text) ? { value: [text] } : shape.form;
    case 'number': {
      const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
      const fits = number >= 1 && number <= shape.most;
      return fits ? { value: number } : { expected: `a number from 1 to ${shape.most}` };
    }
    case 'choice': {
      const { choices: known } = shape;
      return known.includes(text) ? { value: text } : { expected: `one of ${known.join(', ')}`, known };
    }
    case 'route': {
      const value = routeChoice(text);
      return value === undefined ? { expected: EXPECTED_ROUTE, known: routesLike(text) } : { value };
    }
    case 'command':
    case 'variables':
      throw new Error(`no flag and no variable takes ${shape.is} yet`);
  }
}
