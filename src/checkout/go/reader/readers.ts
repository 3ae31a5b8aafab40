import {
  readAssignment,
  readCase,
  readField,
  readFunction,
  readImport,
  readPackage,
} from './declarations.ts';
import {
  asFirst,
  ofNamed,
  readBinary,
  readCall,
  readComposite,
  readElements,
  readIndex,
  readName,
  readNumber,
  readPointer,
  readSelector,
  readString,
  readUnary,
} from './expressions.ts';
import type { Reader } from './walk.ts';

/** What each kind of node of Go's grammar stands for. */
export const READERS: ReadonlyMap<string, Reader> = new Map([
  ...of(readPackage, 'package_clause'),
  ...of(readImport, 'import_spec'),
  ...of(readFunction, 'function_declaration', 'method_declaration'),
  ...of(readField, 'field_declaration'),
  ...of(readAssignment, 'const_spec', 'var_spec', 'short_var_declaration', 'assignment_statement'),
  ...of(readCase, 'expression_case'),
  ...of(readCall, 'call_expression', 'type_conversion_expression'),
  ...of(readComposite, 'composite_literal'),
  ...of((walk) => readElements(walk, undefined), 'literal_value'),
  ...of(readBinary, 'binary_expression'),
  ...of(readUnary, 'unary_expression'),
  ...of(readPointer, 'pointer_type'),
  ...of(readSelector, 'selector_expression', 'qualified_type'),
  ...of(readIndex, 'index_expression'),
  ...of(ofNamed, 'slice_expression', 'type_instantiation_expression', 'generic_type'),
  ...of(asFirst, 'parenthesized_expression', 'parenthesized_type', 'type_assertion_expression'),
  ...of(asFirst, 'variadic_argument', 'literal_element', 'type_elem'),
  ...of(readName, 'identifier', 'type_identifier', 'field_identifier', 'package_identifier'),
  ...of(readName, 'blank_identifier', 'dot', 'true', 'false', 'nil', 'iota'),
  ...of(readString, 'interpreted_string_literal', 'raw_string_literal'),
  ...of(readNumber, 'int_literal', 'float_literal'),
]);

function of(reader: Reader, ...types: string[]): [string, Reader][] {
  return types.map((type) => [type, reader]);
}
