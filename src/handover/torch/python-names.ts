import { GivenNames, type NameRules } from '../given-names.ts';

/** Words that Python keeps for itself (3.13), and built-ins that generated code uses. */
const RESERVED = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
   import in is lambda nonlocal not or pass raise return try while with yield __debug__
   bool dict dimensions float int isinstance len map range str tuple`.split(/\s+/),
);

const PYTHON: NameRules = {
  reserved: RESERVED,
  // A leading underscore is the module's own.
  allowed: (name) => name.replace(/^_+/, '') || 'unnamed',
  next: (name) => `${name}_`,
};

/** Names of one scope in Python. */
export const pythonNames = (taken?: Iterable<string>): GivenNames => new GivenNames(PYTHON, taken);

/** A Python string literal in ASCII. */
export const pythonString = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A tuple's text; one element has a comma behind it. */
export const pythonTuple = (values: readonly string[]): string =>
  values.length === 1 ? `(${values[0]},)` : `(${values.join(', ')})`;
