import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { KernelFile, LaunchStepDeclaration, MemsetStepDeclaration } from '../../core/kernel.ts';
import { GRID_LIMITS } from '../../core/launch-plan.ts';
import { placeArguments, writeArgument } from './arguments.ts';
import { commentText } from './cpp-names.ts';
import type { HeaderScope } from './header-scope.ts';

/** As the launch planner has them. */
const BLOCK_LIMITS = [1024, 1024, 64];
const MAXIMUM_THREADS_PER_CTA = 1024;
const MAXIMUM_CTAS_PER_CLUSTER = 16;
const MAXIMUM_REPEAT = 10_000;
const LARGEST_INTEGER = '9007199254740991.0';

/** Every function that a step launches, once each. */
export const launchedFunctions = (kernel: KernelFile): string[] => [
  ...new Set(kernel.steps.flatMap((step) => ('function' in step ? [step.function] : []))),
];

/** What an array of arguments must hold for every step. */
export function argumentLimits(kernel: KernelFile): { count: number; bytes: number } {
  const launches = kernel.steps.filter((step): step is LaunchStepDeclaration => 'function' in step);
  return {
    count: Math.max(1, ...launches.map((step) => step.arguments.length)),
    bytes: Math.max(8, ...launches.map((step) => placeArguments(step.arguments).bytes)),
  };
}

/** C++ of all steps, in the body of a function with `visitor`, `layout`, `check` and `error`. */
export function writeSteps(scope: HeaderScope): string[] {
  const { steps } = scope.candidate.kernel.file;
  const functions = launchedFunctions(scope.candidate.kernel.file);
  return steps.flatMap((step, index) => {
    const path = `steps[${index}]`;
    const body = 'memset' in step ? writeMemset(step, scope) : writeLaunches(step, path, functions, scope);
    const what = 'memset' in step ? `memset of ${step.memset.buffer}` : step.function;
    return [`// ${path}: ${commentText(what)}`, ...guarded(step.when, path, body, scope)];
  });
}

const indent = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? line : `  ${line}`));

function guarded(when: Expression | undefined, path: string, body: readonly string[], scope: HeaderScope): string[] {
  const end = 'if (check.failed()) return cudaErrorInvalidValue;';
  if (when === undefined) return ['{', ...indent(body), '}', end];
  const place = `${scope.text(`${path}.when`)}, ${scope.text(String(when))}`;
  return [`if (check.holds(${scope.expression(when)}, ${place})) {`, ...indent(body), '}', end];
}

function writeMemset({ memset }: MemsetStepDeclaration, scope: HeaderScope): string[] {
  const { base, bytes } = scope.buffer(memset.buffer);
  return [
    `error = visitor.memset(${base}, ${memset.byteValue}, static_cast<std::size_t>(${bytes}));`,
    'if (error != cudaSuccess) return error;',
    'after_launch = false;',
    '++launches;',
  ];
}

function writeLaunches(
  step: LaunchStepDeclaration,
  path: string,
  functions: readonly string[],
  scope: HeaderScope,
): string[] {
  const launch = writeLaunch(step, path, functions.indexOf(step.function), scope);
  if (step.repeat === undefined) return launch;
  const count = scope.integer(step.repeat, `${path}.repeat`, '0', String(MAXIMUM_REPEAT));
  return [
    `const std::int64_t count = ${count};`,
    'for (std::int64_t index = 0; index < count && !check.failed(); ++index) {',
    `  const Number ${scope.repeatIndex}(static_cast<double>(index));`,
    `  static_cast<void>(${scope.repeatIndex});`,
    ...indent(launch),
    '}',
  ];
}

function writeLaunch(step: LaunchStepDeclaration, path: string, functionIndex: number, scope: HeaderScope): string[] {
  const { placed } = placeArguments(step.arguments);
  const hasPointers = step.arguments.some((argument) => 'pointers' in argument);
  return [
    'Launch step = Launch();',
    `step.function = ${functionIndex};`,
    `step.name = ${scope.text(step.function)};`,
    `step.grid = ${extent(step.grid, `${path}.grid`, GRID_LIMITS, scope)};`,
    `step.block = ${extent(step.block, `${path}.block`, BLOCK_LIMITS, scope)};`,
    `check.threads(step.block, ${scope.text(`${path}.block`)}, ${MAXIMUM_THREADS_PER_CTA});`,
    ...writeSharedBytes(step, path, scope),
    ...writeCluster(step, path, scope),
    ...(step.cooperative ? ['step.cooperative = true;'] : []),
    // It may start before the launch in front of it ends: only ever one of the same sequence.
    ...(step.programmaticDependent && !hasPointers ? ['step.programmatic_dependent = after_launch;'] : []),
    `step.carve_out_percent = ${step.carveOut === undefined ? -1 : Math.round(step.carveOut)};`,
    ...placed.flatMap((argument, index) => [
      `step.argument_offset[${index}] = ${argument.offsetBytes};`,
      `step.argument_bytes[${index}] = ${argument.bytes};`,
      ...writeArgument(argument, `${path}.arguments[${index}]`, scope),
    ]),
    `step.argument_count = ${placed.length};`,
    'if (check.failed()) return cudaErrorInvalidValue;',
    'error = visitor.launch(step);',
    'if (error != cudaSuccess) return error;',
    'after_launch = true;',
    '++launches;',
  ];
}

function extent(
  expressions: readonly Expression[],
  path: string,
  limits: readonly number[],
  scope: HeaderScope,
): string {
  const along = (expression: Expression, axis: number): string =>
    `check.size(${scope.expression(expression)}, ${scope.text(`${path}[${axis}]`)}, ${scope.text(String(expression))}, ${limits[axis]})`;
  return `dim3(${expressions.map(along).join(', ')})`;
}

function writeSharedBytes({ sharedBytes }: LaunchStepDeclaration, path: string, scope: HeaderScope): string[] {
  if (sharedBytes === undefined || sharedBytes === 0) return [];
  const bytes = scope.integer(sharedBytes, `${path}.sharedBytes`, '0', LARGEST_INTEGER);
  return [
    `step.shared_bytes = static_cast<std::size_t>(${bytes});`,
    `check.shared_memory(step.shared_bytes, device.shared_bytes_per_cta, ${scope.text(path)});`,
  ];
}

function writeCluster({ cluster }: LaunchStepDeclaration, path: string, scope: HeaderScope): string[] {
  if (cluster === undefined) return [];
  const limits = [MAXIMUM_CTAS_PER_CLUSTER, MAXIMUM_CTAS_PER_CLUSTER, MAXIMUM_CTAS_PER_CLUSTER];
  return [
    'step.has_cluster = true;',
    `step.cluster = ${extent(cluster, `${path}.cluster`, limits, scope)};`,
    `check.clusters(step.grid, step.cluster, ${scope.text(`${path}.cluster`)}, ${MAXIMUM_CTAS_PER_CLUSTER});`,
  ];
}
