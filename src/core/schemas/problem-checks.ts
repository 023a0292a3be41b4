import { isFloating } from '../dtype.ts';
import { type ErrorDetails, WarpsmithError } from '../errors.ts';
import { checkExpression, evaluateExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import { BUFFER_ALIGNMENT_BYTES } from '../launch-plan.ts';
import { suggestName } from '../nearest-name.ts';
import { completeShape, describeAllowed, isAllowed } from '../plan/dimensions.ts';
import { expandBuffers } from '../plan/expand-buffers.ts';
import { generatorSetsOf } from '../plan/generator-sets.ts';
import { evaluateScalars, namesOfProblem } from '../plan/scope.ts';
import type { BufferDeclaration, Dimensions, Generator, ProblemFile, Tolerance } from '../problem.ts';

/**
 * Checks of problem.json that a schema can't express. Returns it with the dimensions of workloads and check shapes
 * completed from their defaults.
 *
 * @throws WarpsmithError naming the file, the JSON path, the value received and the expected one.
 */
export function checkProblem(problem: ProblemFile, file: string): ProblemFile {
  const check = new ProblemCheck(problem, file);
  check.dimensionDeclarations();
  check.names();
  check.independentDimensions();
  check.limits();
  check.buffers();
  check.significantParts();
  check.expressions();
  check.comparison();
  check.ladder();
  check.generatorSets();
  const completed = check.completed();
  check.values(completed);
  return completed;
}

type Complaint = Omit<ErrorDetails, 'file'> & { path: string };

/** Next steps by code, where the complaint has no better one. */
const HINTS: Readonly<Record<string, string>> = {
  'dimension-out-of-range': 'Change the value, or the values that the dimension allows.',
  'duplicate-name': 'Rename one of them.',
  'no-output': 'Declare the buffer that the kernel writes.',
  'invalid-name': 'Kernels are the folders beside problem.json.',
  'out-of-range': 'Use max(0, …), or correct the formula.',
};
const DEFAULT_HINT = 'The JSON Schema named by `$schema` describes every field.';

/** Fields of floating-point inputs, and what they are called. */
const INPUTS_ONLY = [
  ['domain', 'a domain of special values'],
  ['scaling', 'a scaling'],
] as const;

class ProblemCheck {
  readonly #problem: ProblemFile;
  readonly #file: string;

  constructor(problem: ProblemFile, file: string) {
    this.#problem = problem;
    this.#file = file;
  }

  dimensionDeclarations(): void {
    const before: string[] = [];
    for (const [name, declaration] of Object.entries(this.#problem.dimensions)) {
      const path = `dimensions.${name}`;
      const { minimum = 1, maximum = Number.POSITIVE_INFINITY } = declaration;
      if (!declaration.values && minimum > maximum) {
        const received = `minimum ${minimum}, maximum ${maximum}`;
        this.#fail({
          code: 'invalid-value',
          message: `\`${name}\` admits no value.`,
          path,
          received,
          expected: 'minimum ≤ maximum',
        });
      }
      if (typeof declaration.default === 'string')
        checkExpression(declaration.default, before, { file: this.#file, path: `${path}.default` });
      before.push(name);
      if (typeof declaration.default === 'number' && !isAllowed(declaration, declaration.default)) {
        this.#fail({
          code: 'dimension-out-of-range',
          message: `The default of \`${name}\` is not one of its own values.`,
          path: `${path}.default`,
          received: String(declaration.default),
          expected: describeAllowed(declaration),
        });
      }
    }
  }

  /** Dimensions and scalars share the names of expressions; inputs and outputs those of buffers. */
  names(): void {
    const { dimensions, scalars = {}, inputs, outputs } = this.#problem;
    this.#unique(Object.keys(scalars), Object.keys(dimensions), 'scalars', 'a dimension');
    this.#unique(Object.keys(outputs), Object.keys(inputs), 'outputs', 'an input');
    this.#uniqueList(
      this.#problem.workloads.map(({ name }) => name),
      (index) => `workloads[${index}].name`,
      'Workload',
    );
    const writes = Object.keys(outputs).length > 0 || Object.values(inputs).some(({ access }) => access === 'inout');
    if (writes) return;
    this.#fail({
      code: 'no-output',
      message: 'The problem writes nothing.',
      path: 'outputs',
      received: 'no output',
      expected: 'at least one output, or an input with "access": "inout"',
    });
  }

  independentDimensions(): void {
    const { independentDimensions = [], dimensions } = this.#problem;
    for (const [index, name] of independentDimensions.entries())
      this.#known(name, Object.keys(dimensions), `independentDimensions[${index}]`, 'dimension');
  }

  limits(): void {
    const { limits = [], dimensions } = this.#problem;
    for (const [index, limit] of limits.entries())
      checkExpression(limit, Object.keys(dimensions), { file: this.#file, path: `limits[${index}]` });
  }

  buffers(): void {
    for (const [name, buffer] of Object.entries(this.#problem.inputs))
      this.#buffer(`inputs.${name}`, buffer, ['in', 'inout']);
    for (const [name, buffer] of Object.entries(this.#problem.outputs))
      this.#buffer(`outputs.${name}`, buffer, ['out']);
    this.#outputsOnly();
    const { reducedAxis } = this.#problem;
    if (!reducedAxis) return;
    this.#known(reducedAxis.input, Object.keys(this.#problem.inputs), 'reducedAxis.input', 'input');
    const rank = this.#problem.inputs[reducedAxis.input]!.shape.length;
    if (reducedAxis.axis < rank) return;
    this.#fail({
      code: 'invalid-value',
      message: `Input \`${reducedAxis.input}\` has no axis ${reducedAxis.axis}.`,
      path: 'reducedAxis.axis',
      received: String(reducedAxis.axis),
      expected: `an axis from 0 to ${rank - 1}`,
    });
  }

  expressions(): void {
    const { flop, minimumFlop, minimumReadBytes, scalars = {}, comparison } = this.#problem;
    for (const [path, expression] of Object.entries({ flop, minimumFlop, minimumReadBytes }))
      this.#expression(expression, path);
    for (const [name, scalar] of Object.entries(scalars)) this.#expression(scalar.value, `scalars.${name}.value`);
    this.#terms(comparison, 'comparison');
    for (const [name, { when, comparison: own }] of Object.entries(this.#problem.outputs)) {
      if (when !== undefined) this.#expression(when, `outputs.${name}.when`);
      if (own) this.#terms(own, `outputs.${name}.comparison`);
    }
  }

  #terms(comparison: Tolerance, path: string): void {
    if ('terms' in comparison && comparison.terms !== undefined) this.#expression(comparison.terms, `${path}.terms`);
  }

  comparison(): void {
    this.#rounds(this.#problem.comparison, 'comparison');
    for (const [name, { comparison }] of Object.entries(this.#problem.outputs))
      if (comparison) this.#rounds(comparison, `outputs.${name}.comparison`);
  }

  #rounds(comparison: Tolerance, path: string): void {
    const storage =
      comparison.kind === 'calibrated'
        ? comparison.storage
        : comparison.kind === 'conditioned'
          ? comparison.unit
          : 'f32';
    if (isFloating(storage)) return;
    this.#fail({
      code: 'invalid-value',
      message: `\`${storage}\` has no rounding to calibrate with.`,
      path: comparison.kind === 'calibrated' ? `${path}.storage` : `${path}.unit`,
      received: storage,
      expected: 'one of f16, bf16, f32, f64',
      hint: 'Compare integers with { "kind": "exact" }.',
    });
  }

  ladder(): void {
    const { rungs, start, deviceReference } = this.#problem;
    this.#uniqueList(rungs, (index) => `rungs[${index}]`, 'Rung');
    for (const [index, rung] of rungs.entries()) this.#folderName(rung, `rungs[${index}]`, '01_minimal');
    if (deviceReference !== undefined) this.#folderName(deviceReference, 'deviceReference', 'reference');
    this.#known(start, rungs, 'start', 'rung');
  }

  #folderName(name: string, path: string, example: string): void {
    if (/^[A-Za-z0-9_][\w.-]*$/.test(name)) return;
    this.#fail({
      code: 'invalid-name',
      message: `\`${name}\` is not the name of a folder beside problem.json.`,
      path,
      received: name,
      expected: `a folder name such as ${example}`,
    });
  }

  generatorSets(): void {
    const sets = this.#problem.generatorSets ?? {};
    for (const [set, generators] of Object.entries(sets)) {
      for (const [input, generator] of Object.entries(generators)) {
        const path = `generatorSets.${set}.${input}`;
        this.#known(input, Object.keys(this.#problem.inputs), path, 'input');
        this.#generator(generator, path, this.#problem.inputs[input]!);
      }
    }
    for (const [index, shape] of this.#problem.checkShapes.entries()) {
      for (const [position, name] of (shape.generators ?? []).entries()) {
        this.#known(
          name,
          Object.keys(generatorSetsOf(this.#problem)),
          `checkShapes[${index}].generators[${position}]`,
          'generator set',
        );
      }
    }
  }

  completed(): ProblemFile {
    const complete = (dimensions: Dimensions, path: string): Dimensions =>
      completeShape(this.#problem, dimensions, { file: this.#file, path });
    return {
      ...this.#problem,
      workloads: this.#problem.workloads.map((workload, index) => ({
        ...workload,
        dimensions: complete(workload.dimensions, `workloads[${index}].dimensions`),
      })),
      checkShapes: this.#problem.checkShapes.map((shape, index) => ({
        ...shape,
        dimensions: complete(shape.dimensions, `checkShapes[${index}].dimensions`),
      })),
    };
  }

  /** Every expression has a usable value at every shape the problem names. */
  values(completed: ProblemFile): void {
    for (const { dimensions } of [...completed.workloads, ...completed.checkShapes]) {
      expandBuffers(completed, dimensions, this.#file);
      evaluateScalars(completed, dimensions, this.#file);
      const { flop, minimumFlop, minimumReadBytes } = completed;
      for (const [path, expression] of Object.entries({ flop, minimumFlop, minimumReadBytes })) {
        const value = evaluateExpression(expression, dimensions, { file: this.#file, path });
        if (value >= 0) continue;
        this.#fail({
          code: 'out-of-range',
          message: `\`${path}\` is ${value}.`,
          path,
          received: `${expression} = ${value}`,
          expected: 'at least 0',
        });
      }
    }
  }

  #buffer(path: string, buffer: BufferDeclaration, accesses: readonly string[]): void {
    for (const [index, extent] of buffer.shape.entries()) this.#expression(extent, `${path}.shape[${index}]`);
    for (const [index, stride] of (buffer.strides ?? []).entries())
      this.#expression(stride, `${path}.strides[${index}]`);
    if (buffer.strides && buffer.strides.length !== buffer.shape.length) {
      this.#fail({
        code: 'invalid-value',
        message: `\`${path}\` has ${buffer.shape.length} axes but ${buffer.strides.length} strides.`,
        path: `${path}.strides`,
        received: `${buffer.strides.length} strides`,
        expected: `${buffer.shape.length} strides`,
      });
    }
    if (!accesses.includes(buffer.access)) {
      this.#fail({
        code: 'invalid-value',
        message: `\`${path}\` can't have access "${buffer.access}".`,
        path: `${path}.access`,
        received: buffer.access,
        expected: `one of ${accesses.join(', ')}`,
        hint: 'A buffer that is read and written is an input with "access": "inout".',
      });
    }
    const alignment = buffer.alignmentBytes ?? BUFFER_ALIGNMENT_BYTES;
    if ((alignment & (alignment - 1)) !== 0) {
      this.#fail({
        code: 'invalid-value',
        message: `\`${path}\` can't be aligned to ${alignment} bytes.`,
        path: `${path}.alignmentBytes`,
        received: String(alignment),
        expected: 'a power of two',
      });
    }
    if (buffer.generator) this.#generator(buffer.generator, `${path}.generator`, buffer);
    const isFloatingInput = isFloating(buffer.dtype) && buffer.access !== 'out';
    for (const [key, what] of INPUTS_ONLY) {
      if (isFloatingInput || buffer[key] === undefined) continue;
      this.#fail({
        code: 'invalid-value',
        message: `\`${path}\` can't have ${what}.`,
        path: `${path}.${key}`,
        received: `${buffer.dtype}, access "${buffer.access}"`,
        expected: 'an input of f16, bf16, f32 or f64',
      });
    }
    if (buffer.generator && buffer.access === 'out') {
      this.#fail({
        code: 'invalid-value',
        message: `Output \`${path}\` has a generator; outputs are poisoned, never filled.`,
        path: `${path}.generator`,
        received: buffer.generator.kind,
        expected: 'no generator',
      });
    }
  }

  #outputsOnly(): void {
    for (const [name, buffer] of Object.entries(this.#problem.inputs)) {
      const key = (['when', 'comparison', 'significant'] as const).find((one) => buffer[one] !== undefined);
      if (key === undefined) continue;
      this.#fail({
        code: 'invalid-value',
        message: `Input \`${name}\` can't have \`${key}\`.`,
        path: `inputs.${name}.${key}`,
        received: key,
        expected: `\`${key}\` of outputs only`,
      });
    }
  }

  /** Lengths decide what else is compared, so they must be there, and be right to the last bit. */
  significantParts(): void {
    const { inputs, outputs, dimensions } = this.#problem;
    for (const [name, { significant, shape }] of Object.entries(outputs)) {
      if (significant === undefined) continue;
      const { first, axis = 0 } = significant;
      const path = `outputs.${name}.significant`;
      if (axis >= shape.length)
        this.#fail({
          code: 'invalid-value',
          message: `Output \`${name}\` has no axis ${axis}.`,
          path: `${path}.axis`,
          received: String(axis),
          expected: `an axis from 0 to ${shape.length - 1}`,
        });
      const lengths = inputs[first] ?? outputs[first];
      if (lengths === undefined) this.#expression(first, `${path}.first`);
      if (typeof first !== 'string' || lengths === undefined) continue;
      if (Object.hasOwn(dimensions, first)) this.#unique([first], Object.keys(dimensions), path, 'a dimension');
      const trouble = this.#troubleWithLengths(first, lengths);
      if (trouble === undefined) continue;
      this.#fail({
        code: 'invalid-value',
        message: `\`${first}\` can't say which elements of \`${name}\` matter: ${trouble}.`,
        path: `${path}.first`,
        received: first,
        expected: 'a buffer of integers that are compared exactly, and are always there',
      });
    }
  }

  #troubleWithLengths(
    name: string,
    { dtype, access, when, significant, comparison }: BufferDeclaration,
  ): string | undefined {
    if (isFloating(dtype)) return `its elements are ${dtype}`;
    if (access === 'in') return undefined;
    if (Object.hasOwn(this.#problem.inputs, name)) return 'kernels change it in place';
    if (when !== undefined) return 'it is not always there';
    if (significant !== undefined) return 'not all of its own elements matter';
    const { kind } = comparison ?? this.#problem.comparison;
    // The others compare integers exactly.
    return kind === 'ulp' || kind === 'allclose' ? `it is compared by { "kind": "${kind}" }` : undefined;
  }

  #generator(generator: Generator, path: string, { shape }: BufferDeclaration): void {
    if ('axis' in generator && generator.axis !== undefined && generator.axis >= shape.length) {
      this.#fail({
        code: 'invalid-value',
        message: `The input has no axis ${generator.axis}.`,
        path: `${path}.axis`,
        received: String(generator.axis),
        expected: `an axis from 0 to ${shape.length - 1}`,
      });
    }
    const expressions: Record<string, Expression> =
      generator.kind === 'index-range'
        ? { low: generator.low, high: generator.high }
        : generator.kind === 'csr'
          ? { rows: generator.rows, columns: generator.columns }
          : generator.kind === 'zipf'
            ? { count: generator.count }
            : {};
    for (const [key, expression] of Object.entries(expressions)) this.#expression(expression, `${path}.${key}`);
  }

  #expression(expression: Expression, path: string): void {
    checkExpression(expression, namesOfProblem(this.#problem), { file: this.#file, path });
  }

  #known(name: string, names: readonly string[], path: string, what: string): void {
    if (names.includes(name)) return;
    this.#fail({
      code: `unknown-${what.replace(' ', '-')}`,
      message: `There is no ${what} \`${name}\`.`,
      path,
      received: name,
      expected: names.length === 0 ? `no ${what}s are declared` : `one of ${names.join(', ')}`,
      hint: suggestName(name, names, `${what[0]!.toUpperCase()}${what.slice(1)}s`),
    });
  }

  #unique(names: readonly string[], taken: readonly string[], section: string, what: string): void {
    const name = names.find((candidate) => taken.includes(candidate));
    if (name === undefined) return;
    this.#fail({
      code: 'duplicate-name',
      message: `\`${name}\` is already the name of ${what}.`,
      path: `${section}.${name}`,
      received: name,
      expected: 'a name used once',
    });
  }

  #uniqueList(names: readonly string[], pathOf: (index: number) => string, what: string): void {
    const index = names.findIndex((name, position) => names.indexOf(name) !== position);
    if (index < 0) return;
    this.#fail({
      code: 'duplicate-name',
      message: `${what} \`${names[index]}\` is listed twice.`,
      path: pathOf(index),
      received: names[index]!,
      expected: 'each name once',
    });
  }

  #fail(complaint: Complaint): never {
    throw new WarpsmithError({
      ...complaint,
      hint: complaint.hint ?? HINTS[complaint.code] ?? DEFAULT_HINT,
      file: this.#file,
    });
  }
}
