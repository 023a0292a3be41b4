/** How a language takes names: the words it keeps for itself, and what makes any name one of its own. */
export interface NameRules {
  readonly reserved: ReadonlySet<string>;
  /** A name, whose dots are underscores already, as the language allows it. */
  readonly allowed: (name: string) => string;
  /** The next one to try when a name is taken or reserved. */
  readonly next: (name: string) => string;
}

/** Gives each name of kernel.json and problem.json a name of its own in one scope of generated code. */
export class GivenNames {
  readonly #rules: NameRules;
  readonly #taken: Set<string>;
  readonly #given = new Map<string, string>();

  /** @param taken - names that something else in the scope has. */
  constructor(rules: NameRules, taken: Iterable<string> = []) {
    this.#rules = rules;
    this.#taken = new Set(taken);
  }

  /** The name's name; the same one every time. */
  of(name: string): string {
    const known = this.#given.get(name);
    if (known !== undefined) return known;
    const { reserved, allowed, next } = this.#rules;
    let given = allowed(name.replaceAll('.', '_'));
    while (reserved.has(given) || this.#taken.has(given)) given = next(given);
    this.#taken.add(given);
    this.#given.set(name, given);
    return given;
  }
}
