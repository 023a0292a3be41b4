import { type DType, isFloating } from '../../core/dtype.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { cppExpression } from './cpp-expression.ts';
import { cppNames, stringLiteral } from './cpp-names.ts';

/** Names of the header's own that an expression's names must not hide. */
const OWN_NAMES = [
  ...['ceilDiv', 'floor', 'ceil', 'abs', 'log2', 'sqrt', 'pow', 'minimum', 'maximum', 'select'],
  ...['Number', 'Check', 'Launch', 'Layout', 'Scope', 'Device', 'Buffers', 'Dimensions', 'Sizes', 'step', 'check'],
  ...['visitor', 'layout', 'buffers', 'workspace', 'error', 'device', 'dimensions', 'index', 'count', 'measure'],
  ...['after_launch', 'launches', 'verify', 'steps', 'round_up', 'place_at', 'nothing', 'truth', 'bits', 'integers'],
];

/** How the generated members of the header's `Scope` name things and take values out of expressions. */
export class HeaderScope {
  readonly problem: ProblemFile;
  readonly candidate: Candidate;
  readonly #names = cppNames(OWN_NAMES);
  readonly #dimensions = cppNames();
  readonly #buffers = cppNames();
  readonly #sizes = cppNames(['workspace_bytes']);
  readonly #workspaces = cppNames(['total', 'sizes']);
  readonly #tables: { path: string; count: number }[] = [];

  constructor(problem: ProblemFile, candidate: Candidate) {
    this.problem = problem;
    this.candidate = candidate;
    for (const name of Object.keys(problem.dimensions)) this.#dimensions.of(name);
  }

  /** C++ name of a dimension, scalar, parameter or device fact. */
  name(name: string): string {
    return this.#names.of(name);
  }

  /** The field of `Dimensions`. */
  dimensionField(name: string): string {
    return this.#dimensions.of(name);
  }

  /** The field of `Buffers` (a pointer), and the one of `Sizes`. */
  bufferField(name: string): string {
    return this.#buffers.of(name);
  }
  sizeField(name: string): string {
    return this.#sizes.of(name);
  }
  workspaceField(name: string): string {
    return this.#workspaces.of(name);
  }

  expression(expression: Expression): string {
    return cppExpression(expression, (name) => this.name(name));
  }

  /** An integer of a range, checked at run time. */
  integer(expression: Expression, path: string, least: string, most: string): string {
    return `check.integer(${this.checked(expression, path)}, ${least}, ${most})`;
  }

  /** A number that its dtype must hold, checked at run time. */
  scalar(value: string, dtype: DType, place: string): string {
    return `check.scalar(${value}, round_to_${dtype}(${value}), ${!isFloating(dtype)}, ${place})`;
  }

  /** The first arguments of a check: an expression's value and place. */
  checked(expression: Expression, path: string): string {
    return `${this.expression(expression)}, ${this.place(expression, path)}`;
  }

  /** Where an expression stands, and its text, for messages. */
  place(expression: Expression, path: string): string {
    return `${this.text(path)}, ${this.text(String(expression))}`;
  }

  text(text: string): string {
    return stringLiteral(text);
  }

  /** A buffer's or workspace's first byte, and its size, as C++ inside the steps. */
  buffer(name: string): { base: string; bytes: string } {
    if (Object.hasOwn(this.candidate.kernel.file.workspaces ?? {}, name)) {
      const field = this.workspaceField(name);
      return { base: `place_at(workspace, layout.${field}_offset)`, bytes: `layout.${field}_bytes` };
    }
    return { base: `buffers.${this.bufferField(name)}`, bytes: `layout.sizes.${this.sizeField(name)}` };
  }

  /** Room in the workspace for an array of pointers; its address as C++. */
  pointerTable(path: string, count: number): string {
    const known = this.#tables.findIndex((table) => table.path === path);
    if (known < 0) this.#tables.push({ path, count });
    return `place_at(workspace, layout.pointers_${known < 0 ? this.#tables.length - 1 : known})`;
  }
  get pointerTables(): readonly { path: string; count: number }[] {
    return this.#tables;
  }
}
