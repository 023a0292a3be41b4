import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type {
  CopyStepDeclaration,
  KernelFile,
  LaunchStepDeclaration,
  MemsetStepDeclaration,
  RepeatStepDeclaration,
  StepDeclaration,
} from '../../core/kernel.ts';
import {
  BLOCK_LIMITS,
  CLUSTER_LIMITS,
  GRID_LIMITS,
  MAXIMUM_CTAS_PER_CLUSTER,
  MAXIMUM_REPEAT,
  MAXIMUM_THREADS_PER_CTA,
} from '../../core/launch-plan.ts';
import { functionsOf, launchesOf } from '../../core/plan/declared-steps.ts';
import { namesOfRepetition } from '../../core/plan/scope.ts';
import { placeArguments, writeArgument } from './arguments.ts';
import { commentText } from './cpp-names.ts';
import type { HeaderScope } from './header-scope.ts';

export const LARGEST_INTEGER = '9007199254740991.0';

/** Every function that a step launches, once each. */
export const launchedFunctions = (kernel: KernelFile): string[] => functionsOf(kernel.steps);

/** What an array of arguments must hold for every step. */
export function argumentLimits(kernel: KernelFile): { count: number; bytes: number } {
  const launches = launchesOf(kernel.steps);
  return {
    count: Math.max(1, ...launches.map((step) => step.arguments.length)),
    bytes: Math.max(8, ...launches.map((step) => placeArguments(step.arguments).bytes)),
  };
}

/** C++ of all steps, in the body of a function with `visitor`, `layout`, `check` and `error`. */
export function writeSteps(scope: HeaderScope): string[] {
  const functions = launchedFunctions(scope.candidate.kernel.file);
  return writeList(scope.candidate.kernel.file.steps, 'steps', functions, scope);
}

const writeList = (
  steps: readonly StepDeclaration[],
  path: string,
  functions: readonly string[],
  scope: HeaderScope,
): string[] =>
  steps.flatMap((step, index) => {
    const own = `${path}[${index}]`;
    const { what, body } = writeStep(step, own, functions, scope);
    return [`// ${own}: ${commentText(what)}`, ...guarded(step.when, own, body, scope)];
  });

function writeStep(
  step: StepDeclaration,
  path: string,
  functions: readonly string[],
  scope: HeaderScope,
): { what: string; body: string[] } {
  if ('memset' in step) return { what: `memset of ${step.memset.buffer}`, body: writeMemset(step, scope) };
  if ('copy' in step) {
    const { from, to } = step.copy;
    return { what: `copy from ${from.buffer} to ${to.buffer}`, body: writeCopy(step, path, scope) };
  }
  if ('steps' in step)
    return {
      what: 'repeated',
      body: repeated(step, path, writeList(step.steps, `${path}.steps`, functions, scope), scope),
    };
  return { what: step.function, body: writeLaunches(step, path, functions, scope) };
}

const indent = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? line : `  ${line}`));

function guarded(when: Expression | undefined, path: string, body: readonly string[], scope: HeaderScope): string[] {
  const end = 'if (check.failed()) return cudaErrorInvalidValue;';
  if (when === undefined) return ['{', ...indent(body), '}', end];
  return [`if (check.holds(${scope.checked(when, `${path}.when`)})) {`, ...indent(body), '}', end];
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

/** A place of which some bytes are copied; its check refuses one beyond the buffer. */
function writeCopy({ copy }: CopyStepDeclaration, path: string, scope: HeaderScope): string[] {
  const place = (key: 'from' | 'to') => {
    const { base, bytes } = scope.buffer(copy[key].buffer);
    const offset = scope.integer(
      copy[key].offsetBytes ?? 0,
      `${path}.copy.${key}.offsetBytes`,
      '0',
      `static_cast<double>(${bytes})`,
    );
    return { base, bytes, offset };
  };
  const [from, to] = [place('from'), place('to')];
  const room = 'static_cast<double>(from_room < to_room ? from_room : to_room)';
  const what = `${scope.text(`${path}.copy.bytes`)}, ${scope.text(String(copy.bytes ?? 'all of the source'))}`;
  const asked = copy.bytes === undefined ? 'static_cast<double>(from_room)' : scope.expression(copy.bytes);
  const isWithinOne = copy.from.buffer === copy.to.buffer;
  return [
    `const std::int64_t from_offset = ${from.offset};`,
    `const std::int64_t to_offset = ${to.offset};`,
    `const std::int64_t from_room = static_cast<std::int64_t>(${from.bytes}) - from_offset;`,
    `const std::int64_t to_room = static_cast<std::int64_t>(${to.bytes}) - to_offset;`,
    // An output that is not wanted has no bytes.
    `if (${from.bytes} > 0 && ${to.bytes} > 0) {`,
    `  const std::int64_t bytes = check.integer(${asked}, ${what}, 0, ${room});`,
    ...(isWithinOne
      ? [
          '  if ((from_offset < to_offset ? to_offset - from_offset : from_offset - to_offset) < bytes)',
          `    check.refuse_text(${scope.text(`${path}.copy: reads and writes the same bytes of ${copy.to.buffer}`)});`,
        ]
      : []),
    '  if (check.failed()) return cudaErrorInvalidValue;',
    '  if (bytes > 0) {',
    `    error = visitor.copy(place_at(${to.base}, to_offset), place_at(${from.base}, from_offset),`,
    '                         static_cast<std::size_t>(bytes));',
    '    if (error != cudaSuccess) return error;',
    '    after_launch = false;',
    '    ++launches;',
    '  }',
    '}',
  ];
}

function writeLaunches(
  step: LaunchStepDeclaration,
  path: string,
  functions: readonly string[],
  scope: HeaderScope,
): string[] {
  const launch = writeLaunch(step, path, functions.indexOf(step.function), scope);
  return step.repeat === undefined ? launch : repeated({ repeat: step.repeat }, path, launch, scope);
}

function repeated(
  { repeat, index }: Pick<RepeatStepDeclaration, 'repeat' | 'index'>,
  path: string,
  body: readonly string[],
  scope: HeaderScope,
): string[] {
  const count = scope.integer(repeat, `${path}.repeat`, '0', String(MAXIMUM_REPEAT));
  return [
    `const std::int64_t count = ${count};`,
    'for (std::int64_t index = 0; index < count && !check.failed(); ++index) {',
    ...namesOfRepetition(index).flatMap((name) => [
      `  const Number ${scope.name(name)}(static_cast<double>(index));`,
      `  static_cast<void>(${scope.name(name)});`,
    ]),
    ...indent(body),
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
    `check.size(${scope.checked(expression, `${path}[${axis}]`)}, ${limits[axis]})`;
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
  return [
    'step.has_cluster = true;',
    `step.cluster = ${extent(cluster, `${path}.cluster`, CLUSTER_LIMITS, scope)};`,
    `check.clusters(step.grid, step.cluster, ${scope.text(`${path}.cluster`)}, ${MAXIMUM_CTAS_PER_CLUSTER});`,
  ];
}
