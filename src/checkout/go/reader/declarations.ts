import type { Declared, Expression, Parameter } from './nodes.ts';
import { writtenValue } from './strings.ts';
import { OTHER, type Walk } from './walk.ts';

const ASSIGNS = new Set([':=', '=', '+=']);

export function readPackage(walk: Walk): Expression {
  walk.each(() => {
    walk.file.package = walk.text;
  });
  return OTHER;
}

export function readImport(walk: Walk): Expression {
  let alias: string | undefined;
  walk.each(() => {
    if (walk.field === 'name') alias = walk.text;
    else walk.file.imports.push({ path: writtenValue(walk.text), alias });
  });
  return OTHER;
}

export function readFunction(walk: Walk): Expression {
  const declared: Declared = { name: '', receiver: [], parameters: [], results: [] };
  walk.within = walk.file.functions.push(declared);
  walk.each(() => {
    const { field } = walk;
    if (field === 'name') declared.name = walk.text;
    else if (field === 'receiver' || field === 'parameters') declared[field] = readParameters(walk);
    else if (field === 'result') declared.results = readParameters(walk);
    else walk.read();
  });
  walk.within = 0;
  return OTHER;
}

/** Those in parentheses, or the one type without. */
function readParameters(walk: Walk): Parameter[] {
  if (walk.type !== 'parameter_list') return [{ names: [], type: walk.read() }];
  const parameters: Parameter[] = [];
  walk.each(() => {
    const parameter: Parameter = { names: [], type: OTHER };
    walk.each(() => {
      if (walk.field === 'name') parameter.names.push(walk.text);
      else parameter.type = walk.read();
    });
    parameters.push(parameter);
  });
  return parameters;
}

export function readField(walk: Walk): Expression {
  const names: string[] = [];
  let tag = '';
  walk.each(() => {
    const { field } = walk;
    if (field === 'name') names.push(walk.text);
    else if (field === 'tag') tag = writtenValue(walk.text);
    else walk.read();
  });
  walk.file.fields.push({ names, tag });
  return OTHER;
}

export function readAssignment(walk: Walk): Expression {
  const { file, within, end } = walk;
  const [targets, values]: [Expression[], Expression[]] = [[], []];
  const operator = walk.each(() => {
    const { field } = walk;
    if (field === 'name') targets.push(walk.read());
    else if (field === 'left') targets.push(...walk.all());
    else if (field === 'right' || field === 'value') values.push(...walk.all());
    else walk.read();
  });
  if (!ASSIGNS.has(operator)) return OTHER;
  for (const [index, value] of values.entries()) {
    const target = targets[index];
    if (target) file.assignments.push({ target, value, within, end });
  }
  return OTHER;
}

export function readCase(walk: Walk): Expression {
  walk.each(() => {
    if (walk.field === 'value') walk.file.cases.push(...walk.all());
    else walk.read();
  });
  return OTHER;
}
