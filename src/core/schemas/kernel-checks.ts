import { type ErrorDetails, WarpsmithError } from '../errors.ts';
import { checkExpression, namesInExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type {
  ArgumentDeclaration,
  ContentsDeclaration,
  KernelFile,
  LaunchStepDeclaration,
  ParameterRange,
  RepeatStepDeclaration,
} from '../kernel.ts';
import { suggestName } from '../nearest-name.ts';
import { type PlacedStep, placedSteps } from '../plan/declared-steps.ts';
import {
  allowsValue,
  countValues,
  describeValues,
  isRange,
  MAXIMUM_RANGE_VALUES,
  valuesNear,
} from '../plan/parameter-values.ts';
import { namesOfPlan, namesOfRepetition } from '../plan/scope.ts';
import type { ProblemFile } from '../problem.ts';
import { FINDING_IDS } from '../vocabulary.ts';

/**
 * Checks of kernel.json that a schema can't express: parameters, remedies, file names, syntax of expressions.
 *
 * @throws WarpsmithError naming the file, the JSON path, the value received and the expected one.
 */
export function checkKernel(kernel: KernelFile, file: string): void {
  const fail = failer(file);
  checkParameters(kernel, fail);
  checkRemedies(kernel, fail);
  checkSourcePaths(kernel, fail);
  checkContents(kernel, fail);
  checkNesting(kernel, fail);
  for (const { expression, path } of expressionsOf(kernel)) namesInExpression(expression, { file, path });
}

/**
 * Checks everything in kernel.json that refers to problem.json: names in expressions, buffers of arguments and memsets.
 *
 * @throws WarpsmithError naming the file, the JSON path, the value received and the expected one.
 */
export function checkKernelAgainstProblem(kernel: KernelFile, problem: ProblemFile, file: string): void {
  const fail = failer(file);
  checkNames(kernel, problem, fail);
  const scopes: Record<NameScope, string[]> = {
    limit: Object.keys(problem.dimensions),
    constraint: [...Object.keys(problem.dimensions), ...Object.keys(kernel.parameters ?? {})],
    plan: namesOfPlan(problem, kernel),
  };
  for (const { expression, path, scope, indices = [] } of expressionsOf(kernel))
    checkExpression(expression, [...scopes[scope], ...indices], { file, path });
  for (const reference of bufferReferences(kernel)) checkBuffer(reference, kernel, problem, fail);
}

type Fail = (complaint: Omit<ErrorDetails, 'file'> & { path: string; hint: string }) => never;
const failer =
  (file: string): Fail =>
  (complaint) => {
    throw new WarpsmithError({ ...complaint, file });
  };

function checkParameters(kernel: KernelFile, fail: Fail): void {
  for (const [name, { values, default: start }] of Object.entries(kernel.parameters ?? {})) {
    const path = `parameters.${name}`;
    if (isRange(values)) checkRange(name, values, fail);
    if (!allowsValue(values, start)) {
      fail({
        code: 'parameter-not-allowed',
        message: `The default of parameter \`${name}\` is not one of its values.`,
        path: `${path}.default`,
        received: String(start),
        expected: describeValues(values),
        hint: isRange(values)
          ? `Change the range, or start from ${valuesNear(values, start).join(' or ')}.`
          : 'Add it to the values, or start from one of them.',
      });
    }
    if (isRange(values)) continue;
    const twice = values.findIndex((value, index) => values.indexOf(value) !== index);
    if (twice < 0) continue;
    fail({
      code: 'duplicate-value',
      message: `Parameter \`${name}\` lists ${values[twice]} twice.`,
      path: `${path}.values[${twice}]`,
      received: String(values[twice]),
      expected: 'each value once',
      hint: 'Remove one of them.',
    });
  }
}

function checkRange(name: string, range: ParameterRange, fail: Fail): void {
  const path = `parameters.${name}.values`;
  const { from, to } = range;
  if (from > to) {
    fail({
      code: 'empty-range',
      message: `The range of parameter \`${name}\` has no values.`,
      path,
      received: `from ${from} to ${to}`,
      expected: `\`to\` of at least ${from}`,
      hint: `Ranges ascend: write "from": ${to}, "to": ${from}.`,
    });
  }
  const count = countValues(range);
  if (count <= MAXIMUM_RANGE_VALUES) return;
  fail({
    code: 'range-too-large',
    message: `The range of parameter \`${name}\` has ${count} values.`,
    path,
    received: describeValues(range),
    expected: `at most ${MAXIMUM_RANGE_VALUES} values`,
    hint: 'Take a larger "step", a smaller "to", or a "factor" such as 2 instead of "step".',
  });
}

function checkRemedies(kernel: KernelFile, fail: Fail): void {
  const ids: readonly string[] = FINDING_IDS;
  for (const [index, id] of (kernel.remedies ?? []).entries()) {
    if (ids.includes(id)) continue;
    fail({
      code: 'unknown-finding',
      message: `There is no finding \`${id}\` to remedy.`,
      path: `remedies[${index}]`,
      received: id,
      expected: `one of ${ids.join(', ')}`,
      hint: suggestName(id, ids, 'Findings'),
    });
  }
}

function checkSourcePaths(kernel: KernelFile, fail: Fail): void {
  for (const key of ['files', 'includes'] as const) {
    for (const [index, name] of (kernel.source[key] ?? []).entries()) {
      if (isInsideFolder(name)) continue;
      fail({
        code: 'file-outside-kernel',
        message: `\`${name}\` is not inside the kernel's folder.`,
        path: `source.${key}[${index}]`,
        received: name,
        expected: 'a relative path without `..`',
        hint: 'Copy the file into the kernel folder.',
      });
    }
  }
}

/** Checks the text alone; the loader also follows symbolic links. */
const isInsideFolder = (name: string): boolean =>
  !name.startsWith('/') && !/[\\\0:]/.test(name) && !name.split('/').includes('..');

/** Parameters, dimensions and scalars share the names of expressions; workspaces and buffers those of arguments. */
function checkNames(kernel: KernelFile, problem: ProblemFile, fail: Fail): void {
  const refuse = (
    section: string,
    names: readonly string[],
    taken: Readonly<Record<string, unknown>>,
    what: string,
  ): void => {
    const name = names.find((candidate) => Object.hasOwn(taken, candidate));
    if (name === undefined) return;
    fail({
      code: 'duplicate-name',
      message: `\`${name}\` is already the name of ${what} of ${problem.name}.`,
      path: `${section}.${name}`,
      received: name,
      expected: 'a name used once',
      hint: 'Rename it in kernel.json and in the source.',
    });
  };
  const parameters = Object.keys(kernel.parameters ?? {});
  const workspaces = Object.keys(kernel.workspaces ?? {});
  refuse('parameters', parameters, problem.dimensions, 'a dimension');
  refuse('parameters', parameters, problem.scalars ?? {}, 'a scalar');
  refuse('workspaces', workspaces, problem.inputs, 'an input');
  refuse('workspaces', workspaces, problem.outputs, 'an output');
  for (const { step, path } of placedSteps(kernel.steps)) {
    if (!('steps' in step) || step.index === undefined) continue;
    refuse(path, [step.index], problem.dimensions, 'a dimension');
    refuse(path, [step.index], problem.scalars ?? {}, 'a scalar');
  }
}

/** Zeros and poison are contents, too: only what is written once can start from others. */
function checkContents({ workspaces = {} }: KernelFile, fail: Fail): void {
  for (const [name, { init, contents }] of Object.entries(workspaces)) {
    if (contents === undefined || init === 'once') continue;
    fail({
      code: 'contents-without-once',
      message: `Workspace \`${name}\` has contents, and \`init\` says ${init}.`,
      path: `workspaces.${name}.init`,
      received: init,
      expected: 'once',
      hint:
        'Contents are there before the first launch sequence. To start every sequence from them, keep them in a workspace ' +
        'with `once`, and let a `copy` be the first step.',
    });
  }
}

/** Repeated steps within repeated steps within …: more is certainly a mistake. */
const DEEPEST_REPEAT = 4;

function checkNesting(kernel: KernelFile, fail: Fail): void {
  const parameters = Object.keys(kernel.parameters ?? {});
  for (const { step, path, within } of placedSteps(kernel.steps)) {
    if (within.length > DEEPEST_REPEAT)
      fail({
        code: 'nested-too-deep',
        message: `\`${path}\` lies in ${within.length} repeated steps.`,
        path,
        received: `${within.length} around it`,
        expected: `at most ${DEEPEST_REPEAT}`,
        hint: 'Loop inside the kernel.',
      });
    if (!('steps' in step) || step.index === undefined) continue;
    const taken = [...parameters, ...within.flatMap(({ index = [] }) => index)];
    if (!taken.includes(step.index)) continue;
    fail({
      code: 'duplicate-name',
      message: `\`${step.index}\` is already the name of a parameter or of the index of steps around these.`,
      path: `${path}.index`,
      received: step.index,
      expected: 'a name used once',
      hint: 'Rename it, in the expressions that name it, too.',
    });
  }
}

type NameScope = 'limit' | 'constraint' | 'plan';
interface PlacedExpression {
  expression: Expression;
  path: string;
  scope: NameScope;
  /** Names of the repetitions in which it stands. */
  indices?: string[];
}

function expressionsOf(kernel: KernelFile): PlacedExpression[] {
  const listed = (list: readonly Expression[] | undefined, path: string, scope: NameScope): PlacedExpression[] =>
    (list ?? []).map((expression, index) => ({ expression, path: `${path}[${index}]`, scope }));
  return [
    ...listed(kernel.constraints, 'constraints', 'constraint'),
    ...listed(kernel.limits, 'limits', 'limit'),
    ...Object.entries(kernel.workspaces ?? {}).flatMap(([name, { bytes, contents }]): PlacedExpression[] => [
      { expression: bytes, path: `workspaces.${name}.bytes`, scope: 'plan' },
      ...contentExpressions(contents, `workspaces.${name}.contents`).map(
        (found): PlacedExpression => ({ ...found, scope: 'plan' }),
      ),
    ]),
    ...placedSteps(kernel.steps).flatMap(stepExpressions),
  ];
}

interface FoundExpression {
  expression: Expression;
  path: string;
}

function contentExpressions(contents: ContentsDeclaration | undefined, path: string): FoundExpression[] {
  if (contents === undefined || 'bytes' in contents) return [];
  if ('value' in contents) return [{ expression: contents.value, path: `${path}.value` }];
  if ('values' in contents)
    return contents.values.map((expression, index) => ({ expression, path: `${path}.values[${index}]` }));
  return [
    { expression: contents.from, path: `${path}.from` },
    { expression: contents.step, path: `${path}.step` },
  ];
}

/** A condition and a count know the repetitions around the step, all else that of the step, too. */
function stepExpressions({ step, path, within }: PlacedStep): PlacedExpression[] {
  const around = within.flatMap(({ index }: RepeatStepDeclaration) => namesOfRepetition(index));
  const found: PlacedExpression[] = [];
  const add = (expression: Expression | undefined, key: string, indices = around): void => {
    if (expression !== undefined) found.push({ expression, path: `${path}.${key}`, scope: 'plan', indices });
  };
  add(step.when, 'when');
  if ('memset' in step) return found;
  if ('copy' in step) {
    add(step.copy.bytes, 'copy.bytes');
    for (const key of ['from', 'to'] as const) add(step.copy[key].offsetBytes, `copy.${key}.offsetBytes`);
    return found;
  }
  add(step.repeat, 'repeat');
  if ('steps' in step) return found;
  const own = step.repeat === undefined ? around : [...around, ...namesOfRepetition(undefined)];
  for (const key of ['grid', 'block', 'cluster'] as const)
    for (const [axis, expression] of (step[key] ?? []).entries()) add(expression, `${key}[${axis}]`, own);
  add(step.sharedBytes, 'sharedBytes', own);
  for (const [position, argument] of step.arguments.entries())
    for (const { expression, path: key } of argumentExpressions(argument, `arguments[${position}]`))
      add(expression, key, own);
  return found;
}

function argumentExpressions(argument: ArgumentDeclaration, path: string): FoundExpression[] {
  if ('scalar' in argument) return [{ expression: argument.scalar, path: `${path}.scalar` }];
  if ('buffer' in argument) return [{ expression: argument.offsetBytes ?? 0, path: `${path}.offsetBytes` }];
  if ('struct' in argument) {
    return argument.struct.map(({ value }, index) => ({ expression: value, path: `${path}.struct[${index}].value` }));
  }
  if ('pointers' in argument) {
    return argument.pointers.map(({ offsetBytes }, index) => ({
      expression: offsetBytes ?? 0,
      path: `${path}.pointers[${index}].offsetBytes`,
    }));
  }
  if (!('tensorMap' in argument)) return [];
  const { globalDim, globalStridesBytes, boxDim, elementStrides = [] } = argument.tensorMap;
  return Object.entries({ globalDim, globalStridesBytes, boxDim, elementStrides }).flatMap(([key, list]) =>
    list.map((expression, index) => ({ expression, path: `${path}.tensorMap.${key}[${index}]` })),
  );
}

interface BufferReference {
  name: string;
  path: string;
  written: boolean;
}

const bufferReferences = (kernel: KernelFile): BufferReference[] =>
  placedSteps(kernel.steps).flatMap(({ step, path }) => {
    if ('memset' in step) return [{ name: step.memset.buffer, path: `${path}.memset.buffer`, written: true }];
    if ('steps' in step) return [];
    if ('function' in step) return launchReferences(step, path);
    return (['from', 'to'] as const).map((key) => ({
      name: step.copy[key].buffer,
      path: `${path}.copy.${key}.buffer`,
      written: key === 'to',
    }));
  });

const launchReferences = (step: LaunchStepDeclaration, path: string): BufferReference[] =>
  step.arguments.flatMap((argument, index) => {
    const at = `${path}.arguments[${index}]`;
    if ('buffer' in argument) return [{ name: argument.buffer, path: `${at}.buffer`, written: false }];
    if ('tensorMap' in argument)
      return [{ name: argument.tensorMap.buffer, path: `${at}.tensorMap.buffer`, written: false }];
    if (!('pointers' in argument)) return [];
    return argument.pointers.map(({ buffer }, position) => ({
      name: buffer,
      path: `${at}.pointers[${position}].buffer`,
      written: false,
    }));
  });

function checkBuffer(reference: BufferReference, kernel: KernelFile, problem: ProblemFile, fail: Fail): void {
  const { name, path } = reference;
  const known = Object.keys({ ...problem.inputs, ...problem.outputs, ...kernel.workspaces });
  if (!known.includes(name)) {
    const isValue = Object.hasOwn(problem.dimensions, name) || Object.hasOwn(problem.scalars ?? {}, name);
    fail({
      code: 'unknown-buffer',
      message: `There is no buffer or workspace \`${name}\`.`,
      path,
      received: name,
      expected: `one of ${known.join(', ')}`,
      hint: isValue ? `Pass the value as { "scalar": "${name}", "dtype": … }.` : suggestName(name, known, 'Buffers'),
    });
  }
  if (!reference.written || problem.inputs[name]?.access !== 'in') return;
  fail({
    code: 'input-not-writable',
    message: `\`${name}\` is an input and must come back unchanged.`,
    path,
    received: name,
    expected: 'an output, an inout buffer or a workspace',
    hint: 'Write to a workspace instead.',
  });
}
