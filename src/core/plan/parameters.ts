import { WarpsmithError } from '../errors.ts';
import { evaluateExpression, namesInExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type { KernelFile, ParameterDeclaration, ParameterValues } from '../kernel.ts';
import { suggestName } from '../nearest-name.ts';
import type { Dimensions } from '../problem.ts';
import { describeCondition } from './describe-condition.ts';
import { allowsValue, countValues, describeValues, isRange, listValues, valuesNear } from './parameter-values.ts';

/** Most assignments; more are certainly a mistake in `values`. */
const MAXIMUM_ASSIGNMENTS = 1_000_000;
/** Most values tried while listing: constraints may leave few of very many assignments, but finding them takes time. */
const MAXIMUM_TRIED = 2_000_000;

/**
 * The given values with defaults added, in declared order.
 *
 * @throws WarpsmithError `unknown-parameter` or `parameter-not-allowed`.
 */
export function completeParameters(kernel: KernelFile, values: ParameterValues): ParameterValues {
  const declarations = kernel.parameters ?? {};
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(declarations, name)) throw unknownParameter(kernel, name);
  }
  const complete: Record<string, number> = {};
  for (const [name, declaration] of Object.entries(declarations)) {
    const value = Object.hasOwn(values, name) ? values[name]! : declaration.default;
    if (!allowsValue(declaration.values, value)) throw notAllowed(kernel, name, value, declaration);
    complete[name] = value;
  }
  return complete;
}

/**
 * The first constraint that these parameters violate, with its values; `undefined` if they are valid. Without dimensions,
 * skips constraints that name one.
 *
 * @throws WarpsmithError if a constraint can't be evaluated.
 */
export function failedConstraint(
  kernel: KernelFile,
  parameters: ParameterValues,
  dimensions?: Dimensions,
): string | undefined {
  const scope = { ...dimensions, ...parameters };
  for (const [index, constraint] of (kernel.constraints ?? []).entries()) {
    const needsDimensions = namesInExpression(constraint).some((name) => !Object.hasOwn(parameters, name));
    if (needsDimensions && dimensions === undefined) continue;
    const holds = evaluateExpression(constraint, scope, { path: `constraints[${index}]` }) !== 0;
    if (!holds) return describeCondition(constraint, scope);
  }
  return undefined;
}

/**
 * Every assignment of the parameters that meets all constraints; one empty assignment when there are no parameters.
 * The last parameter varies fastest.
 *
 * @throws WarpsmithError `too-many-assignments` above a million of them, or where constraints leave too few of too many.
 */
export function validAssignments(kernel: KernelFile, dimensions?: Dimensions): ParameterValues[] {
  const levels = levelsOf(kernel, Object.keys(kernel.parameters ?? {}), dimensions);
  if (levels.every(({ constraints }) => constraints.length === 0) && combinations(kernel) > MAXIMUM_ASSIGNMENTS)
    throw tooMany(kernel);
  const assignments: ParameterValues[] = [];
  for (const assignment of assign(kernel, levels, dimensions)) {
    if (assignments.length === MAXIMUM_ASSIGNMENTS) throw tooMany(kernel);
    assignments.push({ ...assignment });
  }
  return assignments;
}

/**
 * The number of assignments that {@link validAssignments} would list. Does not list parameters that no constraint names;
 * `undefined` if the others have too many values.
 *
 * @throws WarpsmithError if a constraint can't be evaluated.
 */
export function countAssignments(kernel: KernelFile, dimensions?: Dimensions): number | undefined {
  const named = new Set((kernel.constraints ?? []).flatMap((constraint) => namesInExpression(constraint)));
  const declarations = Object.entries(kernel.parameters ?? {});
  const free = declarations.filter(([name]) => !named.has(name));
  const bound = declarations.flatMap(([name]) => (named.has(name) ? [name] : []));
  let count = 0;
  try {
    for (const _ of assign(kernel, levelsOf(kernel, bound, dimensions), dimensions)) count += 1;
  } catch (error) {
    if (isTooManyAssignments(error)) return undefined;
    throw error;
  }
  return free.reduce((product, [, { values }]) => product * countValues(values), count);
}

/**
 * The valid assignment that keeps most of the wanted values, the first of equals in the order of {@link validAssignments}.
 * The best found so far if there are too many to list; `undefined` if there is none.
 */
export function closestAssignment(
  kernel: KernelFile,
  wanted: ParameterValues,
  dimensions: Dimensions,
): ParameterValues | undefined {
  const levels = levelsOf(kernel, Object.keys(kernel.parameters ?? {}), dimensions);
  let best: ParameterValues | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  const differences = (values: ParameterValues, upTo: number): number =>
    levels.slice(0, upTo).filter(({ name }) => values[name] !== wanted[name]).length;
  const isHopeless = (values: ParameterValues, upTo: number): boolean => differences(values, upTo) >= fewest;
  try {
    for (const assignment of assign(kernel, levels, dimensions, isHopeless)) {
      fewest = differences(assignment, levels.length);
      best = { ...assignment };
    }
  } catch (error) {
    if (!isTooManyAssignments(error)) throw error;
  }
  return best;
}

export const isTooManyAssignments = (error: unknown): boolean =>
  error instanceof WarpsmithError && error.details.code === 'too-many-assignments';

/** One parameter, and the constraints that can be checked as soon as it and all earlier ones have values. */
interface Level {
  readonly name: string;
  readonly values: readonly number[];
  readonly constraints: readonly Expression[];
}

function levelsOf(kernel: KernelFile, names: readonly string[], dimensions: Dimensions | undefined): Level[] {
  const known = new Set(Object.keys(dimensions ?? {}));
  let open = kernel.constraints ?? [];
  return names.map((name) => {
    known.add(name);
    const decided = open.filter((constraint) => namesInExpression(constraint).every((used) => known.has(used)));
    open = open.filter((constraint) => !decided.includes(constraint));
    return { name, values: listValues(kernel.parameters![name]!.values), constraints: decided };
  });
}

/**
 * Assigns one parameter after the other, and stops early if a constraint already fails. A constraint may guard a later one,
 * so one that can't be evaluated yet is checked on the whole assignment, where constraints are evaluated in order. Always
 * yields the same object.
 */
function* assign(
  kernel: KernelFile,
  levels: readonly Level[],
  dimensions: Dimensions | undefined,
  isHopeless: (values: ParameterValues, upTo: number) => boolean = () => false,
): Generator<ParameterValues> {
  const assignment: Record<string, number> = {};
  const scope: Record<string, number> = { ...dimensions };
  let tried = 0;
  function* from(depth: number, isDoubtful: boolean): Generator<ParameterValues> {
    const level = levels[depth];
    if (!level) {
      // Without parameters, constraints over dimensions alone still need a check.
      const isJudged = levels.length > 0 && !isDoubtful;
      if (isJudged || failedConstraint(kernel, assignment, dimensions) === undefined) yield assignment;
      return;
    }
    for (const value of level.values) {
      tried += 1;
      if (tried > MAXIMUM_TRIED) throw tooMany(kernel);
      assignment[level.name] = value;
      scope[level.name] = value;
      if (isHopeless(assignment, depth + 1)) continue;
      const verdict = level.constraints.length === 0 ? 'holds' : judge(level.constraints, scope);
      if (verdict !== 'fails') yield* from(depth + 1, isDoubtful || verdict === 'open');
    }
  }
  yield* from(0, false);
}

function judge(
  constraints: readonly Expression[],
  scope: Readonly<Record<string, number>>,
): 'holds' | 'fails' | 'open' {
  let verdict: 'holds' | 'open' = 'holds';
  for (const constraint of constraints) {
    try {
      if (evaluateExpression(constraint, scope) === 0) return 'fails';
    } catch {
      verdict = 'open';
    }
  }
  return verdict;
}

const combinations = (kernel: KernelFile): number =>
  Object.values(kernel.parameters ?? {}).reduce((product, { values }) => product * countValues(values), 1);

function unknownParameter(kernel: KernelFile, name: string): Error {
  const names = Object.keys(kernel.parameters ?? {});
  return new WarpsmithError({
    code: 'unknown-parameter',
    message: `Kernel ${kernel.name} has no parameter \`${name}\`.`,
    received: name,
    expected: names.length === 0 ? 'no parameters' : `one of ${names.join(', ')}`,
    hint: suggestName(name, names, 'Parameters'),
  });
}

function notAllowed(kernel: KernelFile, name: string, value: number, { values }: ParameterDeclaration): Error {
  const near = valuesNear(values, value).join(' and ');
  return new WarpsmithError({
    code: 'parameter-not-allowed',
    message: `Parameter \`${name}\` of kernel ${kernel.name} can't be ${value}.`,
    received: String(value),
    expected: describeValues(values),
    hint: isRange(values)
      ? `Nearest: ${near}. Change the range parameters.${name}.values in kernel.json if the kernel supports ${value}.`
      : `Add ${value} to parameters.${name}.values in kernel.json if the kernel supports it.`,
  });
}

function tooMany(kernel: KernelFile): Error {
  const count = combinations(kernel);
  return new WarpsmithError({
    code: 'too-many-assignments',
    message: `The parameters of kernel ${kernel.name} have ${count} combinations, too many to list.`,
    path: 'parameters',
    received: String(count),
    expected: `at most ${MAXIMUM_ASSIGNMENTS} that meet the constraints`,
    hint: 'Give fewer values to some parameters, or search with --strategy guided, which lists none.',
  });
}
