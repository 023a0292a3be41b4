import type { ComparedSizes } from '../../core/compared-sizes.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type {
  ArgumentDeclaration,
  Candidate,
  CopyStepDeclaration,
  LaunchStepDeclaration,
  MemsetStepDeclaration,
  RepeatStepDeclaration,
  StepDeclaration,
} from '../../core/kernel.ts';
import { WORKSPACE_ALIGNMENT_BYTES } from '../../core/launch-plan.ts';
import { usesName } from '../../core/plan/declared-steps.ts';
import { DEVICE_NAMES, REPEAT_INDEX } from '../../core/plan/scope.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { fillTemplate, type Values } from '../fill-template.ts';
import { launchedFunctions } from '../launch-header/steps.ts';
import { brokenConditions } from './conditions.ts';
import { EXPRESSION_NAMES, pythonCondition, pythonExpression } from './python-expression.ts';
import { pythonNames, pythonString, pythonTuple } from './python-names.ts';

const [SM_COUNT, CTAS_PER_SM] = DEVICE_NAMES;

/** Functions of _plan.py that a generated module calls. */
const PLAN_NAMES = ['null', 'raw', 'scalar', 'struct_of'];

/** Python of one kernel: its conditions, and its launches in numbers. `version` is warpsmith's. */
export function kernelModule(
  { candidate, compared }: { readonly candidate: Candidate; readonly compared?: ComparedSizes | undefined },
  problem: ProblemFile,
  version: string,
): string {
  refuseContents(candidate);
  const writer = new KernelWriter(candidate, problem);
  const [conditions, scope, steps] = [writer.conditions(compared), writer.scope(), writer.steps()];
  const body = [...conditions, ...scope, ...steps].join('\n');
  return fillTemplate('torch/_kernel.py', {
    kernel: candidate.kernel.file.name,
    candidate: candidate.id,
    version,
    numbers: usedNames(EXPRESSION_NAMES.concat('integer'), body).join(', ') || 'finite',
    plans: ['Plan', ...usedNames(PLAN_NAMES, body)].join(', '),
    members: writer.members(),
    asksResidency: usesName(candidate.kernel.file, CTAS_PER_SM) ? 'True' : 'False',
    dimensions: writer.dimensions,
    conditions,
    scope,
    steps,
  });
}

/** Of these functions, those that the Python text calls. */
export const usedNames = (names: readonly string[], text: string): string[] =>
  names.filter((name) => new RegExp(String.raw`(?<![.\w])${name}\(`).test(text)).sort();

const indent = (lines: readonly string[]): string[] => lines.map((line) => `    ${line}`);

class KernelWriter {
  readonly #candidate: Candidate;
  readonly #problem: ProblemFile;
  readonly #names = pythonNames([
    ...EXPRESSION_NAMES,
    ...PLAN_NAMES,
    ...['Plan', 'plan', 'refusal', 'integer', 'buffer_bytes', 'device', 'ASKS_RESIDENCY'],
  ]);
  readonly dimensions: string;

  constructor(candidate: Candidate, problem: ProblemFile) {
    this.#candidate = candidate;
    this.#problem = problem;
    this.dimensions = pythonTuple(Object.keys(problem.dimensions).map((name) => this.#names.of(name)));
  }

  members(): Values[] {
    return Object.entries(this.#candidate.parameters).map(([name, value]) => ({
      member: this.#names.of(name),
      value: this.#number(value),
    }));
  }

  conditions(compared: ComparedSizes | undefined): string[] {
    return brokenConditions(this.#problem, { candidate: this.#candidate, compared }, (name) => this.#names.of(name));
  }

  scope(): string[] {
    const fact = (name: string, field: string): string[] =>
      usesName(this.#candidate.kernel.file, name) ? [`${this.#names.of(name)} = float(device.${field})`] : [];
    return [
      ...Object.entries(this.#problem.scalars ?? {}).map(
        ([name, { dtype, value }]) =>
          `${this.#names.of(name)} = rounded(${pythonString(dtype)}, ${this.#number(value)})`,
      ),
      ...fact(SM_COUNT, 'sm_count'),
      ...fact(CTAS_PER_SM, 'ctas_per_sm'),
    ];
  }

  steps(): string[] {
    const { steps, workspaces = {} } = this.#candidate.kernel.file;
    const functions = launchedFunctions(this.#candidate.kernel.file);
    return [
      ...Object.entries(workspaces).map(([name, { bytes, alignmentBytes, init }]) => {
        const alignment = alignmentBytes ?? WORKSPACE_ALIGNMENT_BYTES;
        const place = this.#place(`workspaces.${name}.bytes`, bytes);
        return `plan.workspace(${pythonString(name)}, ${this.#number(bytes)}, ${place}, ${alignment}, ${pythonString(init)})`;
      }),
      ...this.#stepList(steps, 'steps', functions),
    ];
  }

  #stepList(steps: readonly StepDeclaration[], path: string, functions: readonly string[]): string[] {
    return steps.flatMap((step, index) => {
      const own = `${path}[${index}]`;
      const { what, body } = this.#step(step, own, functions);
      return [
        `# ${own}: ${what}`,
        ...(step.when === undefined ? body : [`if ${this.#condition(step.when)}:`, ...indent(body)]),
      ];
    });
  }

  #step(step: StepDeclaration, path: string, functions: readonly string[]): { what: string; body: string[] } {
    if ('memset' in step) return { what: 'memset', body: memset(step) };
    if ('copy' in step) return { what: 'copy', body: this.#copy(step, path) };
    if ('steps' in step) {
      const body = this.#repeated(step, path, this.#stepList(step.steps, `${path}.steps`, functions));
      return { what: 'repeated', body };
    }
    const launch = this.#launch(step, path, functions.indexOf(step.function));
    const { repeat } = step;
    return {
      what: step.function.replaceAll(/\s+/g, ' '),
      body: repeat === undefined ? launch : this.#repeated({ repeat }, path, launch),
    };
  }

  #repeated(
    { repeat, index }: Pick<RepeatStepDeclaration, 'repeat' | 'index'>,
    path: string,
    body: readonly string[],
  ): string[] {
    const count = `${this.#number(repeat)}, ${this.#place(`${path}.repeat`, repeat)}`;
    const innermost = this.#names.of(REPEAT_INDEX);
    const target = index === undefined ? innermost : this.#names.of(index);
    const again = index === undefined ? [] : [`${innermost} = ${target}`];
    return [`for ${target} in plan.repeats(${count}):`, ...indent([...again, ...body])];
  }

  #copy({ copy }: CopyStepDeclaration, path: string): string[] {
    const place = (key: 'from' | 'to'): string => {
      const { buffer, offsetBytes = 0 } = copy[key];
      const where = this.#place(`${path}.copy.${key}.offsetBytes`, offsetBytes);
      return `(${pythonString(buffer)}, ${this.#number(offsetBytes)}, ${where})`;
    };
    const bytes =
      copy.bytes === undefined
        ? 'None'
        : `(${this.#number(copy.bytes)}, ${this.#place(`${path}.copy.bytes`, copy.bytes)})`;
    return [`plan.copy(${pythonString(`${path}.copy`)}, ${place('from')}, ${place('to')}, ${bytes})`];
  }

  #launch(step: LaunchStepDeclaration, path: string, index: number): string[] {
    const { sharedBytes, cluster, cooperative, programmaticDependent, carveOut } = step;
    return [
      'plan.launch(',
      ...indent([
        `${index},`,
        `${pythonString(path)},`,
        `grid=${this.#list(step.grid)},`,
        `block=${this.#list(step.block)},`,
        'arguments=[',
        ...indent(step.arguments.map((argument, at) => `${this.#argument(argument, `${path}.arguments[${at}]`)},`)),
        '],',
        ...(sharedBytes === undefined ? [] : [`shared=${this.#pair(sharedBytes)},`]),
        ...(cluster === undefined ? [] : [`cluster=${this.#list(cluster)},`]),
        ...(cooperative ? ['cooperative=True,'] : []),
        ...(programmaticDependent ? ['programmatic=True,'] : []),
        ...(carveOut === undefined ? [] : [`carve_out=${Math.round(carveOut)},`]),
      ]),
      ')',
    ];
  }

  #argument(argument: ArgumentDeclaration, path: string): string {
    if ('buffer' in argument) return this.#pointer(argument, path);
    if ('null' in argument) return 'null()';
    if ('scalar' in argument) {
      const { dtype, scalar } = argument;
      return `scalar(${pythonString(dtype)}, ${this.#number(scalar)}, ${this.#place(`${path}.scalar`, scalar)})`;
    }
    if ('struct' in argument) {
      const fields = argument.struct.map(
        ({ dtype, value }, field) =>
          `(${pythonString(dtype)}, ${this.#number(value)}, ${this.#place(`${path}.struct[${field}].value`, value)})`,
      );
      return `struct_of([${fields.join(', ')}])`;
    }
    if ('bytes' in argument) return `raw(${pythonString(argument.bytes)})`;
    if ('pointers' in argument) {
      const targets = argument.pointers.map(({ buffer, offsetBytes = 0 }, target) => {
        const place = this.#place(`${path}.pointers[${target}].offsetBytes`, offsetBytes);
        return `(${pythonString(buffer)}, ${this.#number(offsetBytes)}, ${place})`;
      });
      return `plan.pointers([${targets.join(', ')}])`;
    }
    return this.#tensorMap(argument.tensorMap, `${path}.tensorMap`);
  }

  #pointer({ buffer, offsetBytes }: { buffer: string; offsetBytes?: Expression }, path: string): string {
    if (offsetBytes === undefined) return `plan.pointer(${pythonString(buffer)})`;
    const place = this.#place(`${path}.offsetBytes`, offsetBytes);
    return `plan.pointer(${pythonString(buffer)}, ${this.#number(offsetBytes)}, ${place})`;
  }

  #tensorMap(map: Extract<ArgumentDeclaration, { tensorMap: object }>['tensorMap'], path: string): string {
    const ones = new Array<number>(map.globalDim.length).fill(1);
    const modes = Object.entries({
      interleave: map.interleave ?? 'none',
      swizzle: map.swizzle ?? 'none',
      l2_promotion: map.l2Promotion ?? 'none',
      fill: map.fill ?? 'zeros',
    }).map(([key, value]) => `${pythonString(key)}: ${pythonString(value)}`);
    return [
      `plan.tensor_map(${pythonString(path)}, ${pythonString(map.buffer)}, ${pythonString(map.dtype)}`,
      `{${modes.join(', ')}}`,
      `global_dim=${this.#list(map.globalDim)}`,
      `strides_bytes=${this.#list(map.globalStridesBytes)}`,
      `box_dim=${this.#list(map.boxDim)}`,
      `element_strides=${this.#list(map.elementStrides ?? ones)})`,
    ].join(', ');
  }

  #number(expression: Expression): string {
    return pythonExpression(expression, { kind: 'numbers', nameOf: (name) => this.#names.of(name) });
  }

  #condition(expression: Expression): string {
    return pythonCondition(expression, { kind: 'numbers', nameOf: (name) => this.#names.of(name) });
  }

  /** A value, and the expression's text for messages. */
  #pair(expression: Expression): string {
    return `(${this.#number(expression)}, ${pythonString(String(expression))})`;
  }

  #list(expressions: readonly Expression[]): string {
    return `[${expressions.map((expression) => this.#pair(expression)).join(', ')}]`;
  }

  #place(path: string, expression: Expression): string {
    return pythonString(`${path}: ${expression}`);
  }
}

const memset = ({ memset: { buffer, byteValue } }: MemsetStepDeclaration): string[] => [
  `plan.memset(${pythonString(buffer)}, ${byteValue})`,
];

/** A captured call has memory of its own, which only memsets may fill: a graph must not come back to host memory. */
function refuseContents({ kernel: { file, folder } }: Candidate): void {
  const found = Object.entries(file.workspaces ?? {}).find(([, { contents }]) => contents !== undefined);
  if (!found) return;
  const [name] = found;
  throw new WarpsmithError({
    code: 'export-without-contents',
    message: `Packages for PyTorch do not fill workspaces: \`${name}\` of ${file.name} starts with contents.`,
    file: `${folder}/kernel.json`,
    path: `workspaces.${name}.contents`,
    received: 'contents',
    expected: 'workspaces of zeros, or without contents',
    hint: 'Fill it by a launch, or export a launch header.',
  });
}
