/** Words that Python keeps for itself (3.13), and built-ins that generated code uses. */
const RESERVED = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
   import in is lambda nonlocal not or pass raise return try while with yield __debug__
   bool dict dimensions float int isinstance len map range str tuple`.split(/\s+/),
);

/** Gives each name of kernel.json and problem.json a Python name of its own in one scope. */
export class PythonNames {
  readonly #taken: Set<string>;
  readonly #given = new Map<string, string>();

  /** @param taken - names that something else in the scope has. */
  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** The name's Python name; the same one every time. */
  of(name: string): string {
    const known = this.#given.get(name);
    if (known !== undefined) return known;
    let given = name.replaceAll('.', '_');
    // A leading underscore is the module's own.
    given = given.replace(/^_+/, '') || 'unnamed';
    while (RESERVED.has(given) || this.#taken.has(given)) given += '_';
    this.#taken.add(given);
    this.#given.set(name, given);
    return given;
  }
}

/** A Python string literal in ASCII. */
export const pythonString = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A tuple's text; one element has a comma behind it. */
export const pythonTuple = (values: readonly string[]): string =>
  values.length === 1 ? `(${values[0]},)` : `(${values.join(', ')})`;
