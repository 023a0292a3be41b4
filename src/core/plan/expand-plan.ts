import { evaluateExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type {
  KernelFile,
  LaunchStepDeclaration,
  ParameterValues,
  RepeatStepDeclaration,
  StepDeclaration,
} from '../kernel.ts';
import {
  BLOCK_LIMITS,
  CLUSTER_LIMITS,
  type Dim3,
  GRID_LIMITS,
  type LaunchPlan,
  MAXIMUM_CTAS_PER_CLUSTER,
  MAXIMUM_REPEAT,
  MAXIMUM_THREADS_PER_CTA,
  type PlannedBuffer,
  type PlannedLaunch,
  type PlannedStep,
  WORKSPACE_ALIGNMENT_BYTES,
} from '../launch-plan.ts';
import type { Dimensions, ProblemFile } from '../problem.ts';
import { expandArgument } from './expand-arguments.ts';
import { absentOutputs, expandBuffers } from './expand-buffers.ts';
import { expandContents } from './expand-contents.ts';
import { expandCopy } from './expand-copy.ts';
import { evaluateInteger, planError } from './plan-error.ts';
import { planScope, repetitionScope, type Scope } from './scope.ts';

/** Of a sequence; more are certainly a mistake. */
const MAXIMUM_STEPS = 10_000;

export interface PlanRequest {
  readonly problem: ProblemFile;
  readonly kernel: KernelFile;
  /** Complete, as from `completeParameters`. */
  readonly parameters: ParameterValues;
  /** Complete, as of a resolved workload. */
  readonly dimensions: Dimensions;
  readonly device: {
    readonly smCount: number;
    /** When given, dynamic shared memory above it is refused. */
    readonly sharedBytesPerCta?: number;
  };
  /** Resident CTAs per SM of the compiled function, `kernel.ctasPerSm` in expressions; 1 while unknown. */
  readonly ctasPerSm?: number;
  /** Name of kernel.json for messages. */
  readonly file?: string;
}

/**
 * Evaluates every expression of a kernel for one workload: buffers and workspaces with sizes, launches with numbers.
 *
 * @throws WarpsmithError for a plan that no device can launch: a grid of zero CTAs (`zero-size-grid`), more than
 * 1024 threads per CTA, fractional sizes, offsets beyond a buffer, …
 */
export function expandPlan(request: PlanRequest): LaunchPlan {
  const scope = planScope(request);
  const buffers = [
    ...expandBuffers(request.problem, request.dimensions),
    ...expandWorkspaces(request.kernel, scope, request.file),
  ];
  const context: StepContext = {
    buffers: new Map(buffers.map((buffer) => [buffer.name, buffer])),
    absent: new Set(absentOutputs(request.problem, request.dimensions)),
    scope,
    device: request.device,
    file: request.file,
  };
  const steps: PlannedStep[] = [];
  for (const [index, step] of request.kernel.steps.entries()) {
    steps.push(...expandStep(step, `steps[${index}]`, context, MAXIMUM_STEPS - steps.length));
  }
  return { buffers, steps };
}

interface StepContext {
  readonly buffers: ReadonlyMap<string, PlannedBuffer>;
  readonly absent: ReadonlySet<string>;
  readonly scope: Scope;
  readonly device: PlanRequest['device'];
  readonly file: string | undefined;
}

/** @param room steps that the sequence may still take. */
function expandStep(step: StepDeclaration, path: string, context: StepContext, room: number): PlannedStep[] {
  if (step.when !== undefined) {
    const condition = evaluateExpression(step.when, context.scope, { file: context.file, path: `${path}.when` });
    if (condition === 0) return [];
  }
  if (room < 1) throw tooManySteps(path, MAXIMUM_STEPS + 1, context);
  if ('memset' in step) return context.absent.has(step.memset.buffer) ? [] : [{ kind: 'memset', ...step.memset }];
  if ('copy' in step) {
    const copy = expandCopy(step, { ...context, path });
    return copy ? [copy] : [];
  }
  if ('steps' in step) return expandRepeated(step, path, context, room);
  if (step.repeat === undefined) return [expandLaunch(step, path, context)];
  return repetitions({ repeat: step.repeat }, path, context, room).map((scope) =>
    expandLaunch(step, path, { ...context, scope }),
  );
}

function expandRepeated(step: RepeatStepDeclaration, path: string, context: StepContext, room: number): PlannedStep[] {
  const steps: PlannedStep[] = [];
  for (const scope of repetitions(step, path, context, room)) {
    for (const [index, inner] of step.steps.entries()) {
      steps.push(...expandStep(inner, `${path}.steps[${index}]`, { ...context, scope }, room - steps.length));
    }
  }
  return steps;
}

/** The names that expressions may use in each repetition. */
function repetitions(
  step: Pick<RepeatStepDeclaration, 'repeat' | 'index'>,
  path: string,
  context: StepContext,
  room: number,
): Scope[] {
  const count = integer(step.repeat, `${path}.repeat`, context, {
    what: 'The repeat count',
    minimum: 0,
    maximum: MAXIMUM_REPEAT,
  });
  if (count > room) throw tooManySteps(`${path}.repeat`, MAXIMUM_STEPS - room + count, context);
  return Array.from({ length: count }, (_, index) => repetitionScope(step, index, context.scope));
}

/** @param count of steps up to and with the one that does not fit. */
const tooManySteps = (path: string, count: number, context: StepContext): Error =>
  planError('too-many-launches', placed(count, path, context), {
    message: `The launch sequence has more than ${MAXIMUM_STEPS} steps.`,
    value: count,
    expected: `at most ${MAXIMUM_STEPS} launches, memsets and copies, repeats counted`,
    hint: 'Let each launch do more, or loop inside the kernel.',
  });

function expandLaunch(step: LaunchStepDeclaration, path: string, context: StepContext): PlannedLaunch {
  const grid = extent(step.grid, `${path}.grid`, context, GRID_RULES);
  const cluster = step.cluster && extent(step.cluster, `${path}.cluster`, context, CLUSTER_RULES);
  if (cluster) checkCluster(cluster, grid, step, path, context);
  return {
    kind: 'launch',
    functionName: step.function,
    grid,
    block: expandBlock(step, path, context),
    dynamicSharedBytes: expandSharedBytes(step, path, context),
    cluster,
    cooperative: step.cooperative ?? false,
    programmaticDependent: step.programmaticDependent ?? false,
    carveOut: step.carveOut,
    arguments: step.arguments.map((argument, index) =>
      expandArgument(argument, { ...context, path: `${path}.arguments[${index}]` }),
    ),
  };
}

interface ExtentRules {
  readonly what: string;
  readonly limits: Dim3;
  readonly codeBelow: string;
  readonly hint: string;
  /** Instead of `hint`, where an extent is too large. */
  readonly hintAbove?: string;
}

const GRID_RULES: ExtentRules = {
  what: 'The grid',
  limits: GRID_LIMITS,
  codeBelow: 'zero-size-grid',
  hint: 'Use ceilDiv(size, tile), so that a size below one tile still gets a CTA.',
  hintAbove:
    'Put the larger extent in x, loop in the kernel, or declare in `limits` what it takes, such as "B * H <= 65535".',
};
const BLOCK_RULES: ExtentRules = {
  what: 'The block',
  limits: BLOCK_LIMITS,
  codeBelow: 'zero-size-block',
  hint: 'A CTA has 1 to 1024 threads.',
};
const CLUSTER_RULES: ExtentRules = {
  what: 'The cluster',
  limits: CLUSTER_LIMITS,
  codeBelow: 'zero-size-cluster',
  hint: `A cluster has 1 to ${MAXIMUM_CTAS_PER_CLUSTER} CTAs.`,
};

const AXES = ['x', 'y', 'z'] as const;

function extent(expressions: readonly Expression[], path: string, context: StepContext, rules: ExtentRules): Dim3 {
  const along = (axis: 0 | 1 | 2): number =>
    axis >= expressions.length
      ? 1
      : integer(expressions[axis]!, `${path}[${axis}]`, context, {
          what: `${rules.what}'s ${AXES[axis]}`,
          minimum: 1,
          maximum: rules.limits[axis],
          codeBelow: rules.codeBelow,
          hint: rules.hint,
          hintAbove: rules.hintAbove,
        });
  return [along(0), along(1), along(2)];
}

function expandBlock(step: LaunchStepDeclaration, path: string, context: StepContext): Dim3 {
  const block = extent(step.block, `${path}.block`, context, BLOCK_RULES);
  const threads = block[0] * block[1] * block[2];
  if (threads <= MAXIMUM_THREADS_PER_CTA) return block;
  throw planError('block-too-large', placed(step.block.join(' × '), `${path}.block`, context), {
    message: `A block of ${block.join(' × ')} has ${threads} threads.`,
    value: threads,
    expected: `at most ${MAXIMUM_THREADS_PER_CTA} threads`,
    hint: 'Give each thread more work, or more CTAs to the grid.',
  });
}

function expandSharedBytes(step: LaunchStepDeclaration, path: string, context: StepContext): number {
  const expression = step.sharedBytes ?? 0;
  const sharedPath = `${path}.sharedBytes`;
  const bytes = integer(expression, sharedPath, context, { what: 'Dynamic shared memory', minimum: 0 });
  const limit = context.device.sharedBytesPerCta;
  if (limit === undefined || bytes <= limit) return bytes;
  throw planError('shared-memory-limit', placed(expression, sharedPath, context), {
    message: `\`${step.function}\` needs ${bytes} bytes of dynamic shared memory; the device allows ${limit} per CTA.`,
    value: bytes,
    expected: `at most ${limit} bytes`,
    hint: 'Lower the tile sizes or the number of stages.',
  });
}

function checkCluster(
  cluster: Dim3,
  grid: Dim3,
  step: LaunchStepDeclaration,
  path: string,
  context: StepContext,
): void {
  const ctas = cluster[0] * cluster[1] * cluster[2];
  const divides = cluster.every((size, axis) => grid[axis]! % size === 0);
  if (ctas <= MAXIMUM_CTAS_PER_CLUSTER && divides) return;
  throw planError('invalid-cluster', placed(step.cluster!.join(' × '), `${path}.cluster`, context), {
    message: divides
      ? `A cluster of ${cluster.join(' × ')} has ${ctas} CTAs.`
      : `A grid of ${grid.join(' × ')} is not a whole number of clusters of ${cluster.join(' × ')}.`,
    value: ctas,
    expected: `at most ${MAXIMUM_CTAS_PER_CLUSTER} CTAs, and a grid divisible by the cluster along each axis`,
    hint: divides ? 'Make the cluster smaller.' : 'Round the grid up to whole clusters, and let the extra CTAs return.',
  });
}

const placed = (expression: Expression, path: string, context: StepContext) => ({
  expression,
  scope: context.scope,
  path,
  file: context.file,
});

const integer = (
  expression: Expression,
  path: string,
  context: StepContext,
  limits: Parameters<typeof evaluateInteger>[1],
): number => evaluateInteger(placed(expression, path, context), limits);

/**
 * The kernel's workspaces as byte buffers.
 *
 * @throws WarpsmithError when a size is not an integer of at least 1.
 */
const expandWorkspaces = (kernel: KernelFile, scope: Scope, file?: string): PlannedBuffer[] =>
  Object.entries(kernel.workspaces ?? {}).map(([name, declaration]) => {
    const place = { path: `workspaces.${name}.bytes`, file };
    const bytes = evaluateInteger(
      { ...place, expression: declaration.bytes, scope },
      { what: `The size of workspace \`${name}\``, minimum: 1 },
    );
    return {
      name,
      role: 'workspace',
      dtype: 'u8',
      shape: [bytes],
      strides: [1],
      bytes,
      alignmentBytes: declaration.alignmentBytes ?? WORKSPACE_ALIGNMENT_BYTES,
      init: declaration.init,
      contents: declaration.contents && expandContents(declaration.contents, bytes, { name, scope, file }),
    };
  });
