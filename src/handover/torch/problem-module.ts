import type { Expression } from '../../core/expressions/syntax-tree.ts';
import { BUFFER_ALIGNMENT_BYTES } from '../../core/launch-plan.ts';
import { describeAllowed } from '../../core/plan/dimensions.ts';
import type { BufferDeclaration, Dimensions, ProblemFile } from '../../core/problem.ts';
import { fillTemplate } from '../fill-template.ts';
import type { CallShape, NamedBuffer } from './call-shape.ts';
import { brokenConditions } from './conditions.ts';
import { usedNames } from './kernel-module.ts';
import { EXPRESSION_NAMES, pythonCondition, pythonExpression } from './python-expression.ts';
import { pythonNames, pythonString, pythonTuple } from './python-names.ts';

/** The dispatch table, with kernels by their number in the package. */
export interface TorchTable {
  readonly entries: readonly { readonly workload: string; readonly dimensions: Dimensions; readonly kernel: number }[];
  readonly fallback: number;
}

/** Python of the problem: its tensors and dimensions, its limits, and which kernel takes a call. */
export function problemModule(problem: ProblemFile, call: CallShape, table: TorchTable, version: string): string {
  const names = pythonNames([
    ...EXPRESSION_NAMES,
    ...['Dimension', 'Tensor', 'Entry', 'NAME', 'NAMES', 'DIMENSIONS', 'OPERANDS', 'RESULTS', 'TOLD', 'CATEGORICAL'],
    ...['MEASURED', 'ENTRIES', 'FALLBACK', 'bind', 'shapes', 'given', 'results', 'refusal'],
  ]);
  const all = Object.entries(problem.dimensions);
  const nameOf = (name: string): string => names.of(name);
  const indexOf = (name: string): number => all.findIndex(([other]) => other === name);
  const conditions = brokenConditions(problem, undefined, nameOf);
  const writer = new LayoutWriter(nameOf);
  const isListed = (name: string): boolean => problem.dimensions[name]!.values !== undefined;
  const indices = (wanted: boolean): string =>
    pythonTuple(all.flatMap(([name], index) => (isListed(name) === wanted ? [String(index)] : [])));
  const shapeName = (operand: string): string => nameOf(`${operand}_shape`);
  return fillTemplate('torch/_problem.py', {
    problem: problem.name,
    version,
    numbers: usedNames(EXPRESSION_NAMES, conditions.join('\n')).join(', '),
    name: pythonString(problem.name),
    names: pythonTuple(all.map(([name]) => pythonString(name))),
    declarations: all.map(([name, declaration]) =>
      [
        pythonString(name),
        pythonString(describeAllowed(declaration)),
        ...(declaration.values ? [`values=${pythonTuple(declaration.values.map(String))}`] : []),
        ...(declaration.minimum === undefined ? [] : [`minimum=${declaration.minimum}`]),
        ...(declaration.maximum === undefined ? [] : [`maximum=${declaration.maximum}`]),
      ].join(', '),
    ),
    operands: call.operands.map(describeTensor),
    results: call.results.map(describeTensor),
    told: call.keywords
      .flatMap(({ name, told }) => (told ? [`(${indexOfKeyword(call, name)}, ${pythonTuple(told.map(String))}),`] : []))
      .join(' '),
    categorical: indices(true),
    measured: indices(false),
    entries: table.entries.map(
      ({ workload, dimensions, kernel }) =>
        `${pythonString(workload)}, ${pythonTuple(all.map(([name]) => String(dimensions[name])))}, ${kernel}`,
    ),
    fallback: table.fallback,
    shapeNames: pythonTuple(call.operands.map(({ name }) => shapeName(name))),
    givenNames:
      call.keywords.length === 0 ? [] : [`${pythonTuple(call.keywords.map(({ name }) => nameOf(name)))} = given`],
    bindings: [
      ...[...call.bound]
        .sort(([left], [right]) => indexOf(left) - indexOf(right))
        .map(([name, { operand, axis }]) => `${nameOf(name)} = ${shapeName(operand)}[${axis}]`),
      ...call.keywords.flatMap(({ name, declaration }) =>
        declaration.default === undefined
          ? []
          : [`if ${nameOf(name)} is None:`, `    ${nameOf(name)} = ${writer.size(declaration.default)}`],
      ),
    ],
    values: pythonTuple(all.map(([name]) => nameOf(name))),
    operandShapes: call.operands.map(({ buffer }) => writer.shape(buffer)),
    operandStrides: call.operands.map(({ buffer }) => writer.strides(buffer)),
    resultLayouts: call.results.map(
      ({ buffer }) => `(${writer.wanted(buffer)}, ${writer.shape(buffer)}, ${writer.strides(buffer)})`,
    ),
    conditions,
  });
}

const indexOfKeyword = ({ keywords }: CallShape, wanted: string): number =>
  keywords.findIndex(({ name }) => name === wanted);

function describeTensor({ name, buffer }: NamedBuffer): string {
  const texts = (expressions: readonly Expression[]): string =>
    pythonTuple(expressions.map((expression) => pythonString(String(expression))));
  const strides = buffer.strides === undefined ? '("row-major",)' : texts(buffer.strides);
  const alignment = buffer.alignmentBytes ?? BUFFER_ALIGNMENT_BYTES;
  return `${pythonString(name)}, ${pythonString(buffer.dtype)}, ${texts(buffer.shape)}, ${strides}, ${alignment}`;
}

/** Shapes and strides in integers, which may be symbols. */
class LayoutWriter {
  readonly #nameOf: (name: string) => string;

  constructor(nameOf: (name: string) => string) {
    this.#nameOf = nameOf;
  }

  size(expression: Expression): string {
    const text = pythonExpression(expression, { kind: 'sizes', nameOf: this.#nameOf });
    // Names and numbers are integers already.
    return /^\w+$/.test(text) ? text : `sizes.size(${text})`;
  }

  shape({ shape }: BufferDeclaration): string {
    return pythonTuple(shape.map((extent) => this.size(extent)));
  }

  strides(buffer: BufferDeclaration): string {
    if (buffer.strides === undefined) return `sizes.dense(${this.shape(buffer)})`;
    return pythonTuple(buffer.strides.map((stride) => this.size(stride)));
  }

  wanted({ when = 1 }: BufferDeclaration): string {
    return pythonCondition(when, { kind: 'sizes', nameOf: this.#nameOf });
  }
}
