import { sizeOfDType } from '../../../src/core/dtype.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import type { LaunchPlan, PlannedArgument, PlannedStep } from '../../../src/core/launch-plan.ts';
import { launchesOf } from '../../../src/core/plan/declared-steps.ts';
import { isShapeOf } from '../../../src/core/plan/dimensions.ts';
import { expandPlan } from '../../../src/core/plan/expand-plan.ts';
import { failedLimit } from '../../../src/core/plan/limits.ts';
import { failedConstraint } from '../../../src/core/plan/parameters.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { encode } from '../../../src/core/rounding.ts';
import { cppNames } from '../../../src/handover/launch-header/cpp-names.ts';
import { launchHeader } from '../../../src/handover/launch-header/launch-header.ts';
import { runHostProgram, STUB_DEFINITIONS } from './host-compiler.ts';

/** What one candidate is to be planned on. */
export interface PlanCase {
  readonly problem: ProblemFile;
  readonly candidate: Candidate;
  readonly dimensions: readonly Dimensions[];
}

export const DEVICE = { smCount: 58, ctasPerSm: 3, sharedBytesPerCta: 101_376 };
const WORKSPACE_BASE = 0x7f00_0000_0000;
const bufferBase = (index: number): number => 0x1000_0000_0000 * (index + 1);

/** Every step as one line of text; sizes first. `refused` where the call is not taken. */
export type PlanText = readonly string[];

const buffersOf = (problem: ProblemFile): string[] => [...Object.keys(problem.inputs), ...Object.keys(problem.outputs)];

const SHOW = `
template <typename Launch>
struct Show {
  bool encodes_tensor_maps() const { return false; }
  cudaError_t launch(const Launch& step) {
    std::printf("launch %s grid %u,%u,%u block %u,%u,%u shared %zu", step.name, step.grid.x, step.grid.y, step.grid.z,
                step.block.x, step.block.y, step.block.z, step.shared_bytes);
    if (step.has_cluster) std::printf(" cluster %u,%u,%u", step.cluster.x, step.cluster.y, step.cluster.z);
    if (step.cooperative) std::printf(" cooperative");
    if (step.programmatic_dependent) std::printf(" dependent");
    if (step.carve_out_percent >= 0) std::printf(" carve-out %d", step.carve_out_percent);
    for (int i = 0; i < step.argument_count; ++i) {
      std::printf(" ");
      for (std::size_t byte = 0; byte < step.argument_bytes[i]; ++byte)
        std::printf("%02x", step.arguments[step.argument_offset[i] + byte]);
    }
    std::printf("\\n");
    return cudaSuccess;
  }
  cudaError_t memset(void* address, int byte_value, std::size_t bytes) {
    std::printf("memset %llx %d %zu\\n", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)),
                byte_value, bytes);
    return cudaSuccess;
  }
  cudaError_t copy(void* to, const void* from, std::size_t bytes) {
    std::printf("copy %llx %llx %zu\\n", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(to)),
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(from)), bytes);
    return cudaSuccess;
  }
  cudaError_t pointers(void** at, const void* const* targets, int count) {
    std::printf("pointers %llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(at)));
    for (int i = 0; i < count; ++i)
      std::printf(" %llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(targets[i])));
    std::printf("\\n");
    return cudaSuccess;
  }
};
`;

const planCalls = ({ problem, dimensions }: PlanCase, name: string): string[] => {
  const fields = cppNames();
  const buffers = cppNames();
  const sizes = cppNames(['workspace_bytes']);
  const names = Object.keys(problem.dimensions);
  const rows = dimensions.map((values) => `{${names.map((dimension) => `${values[dimension]}LL`).join(', ')}}`);
  return [
    `struct Silent_${name} : Show<${name}::Launch> {`,
    `  cudaError_t launch(const ${name}::Launch&) { return cudaSuccess; }`,
    '  cudaError_t memset(void*, int, std::size_t) { return cudaSuccess; }',
    '  cudaError_t copy(void*, const void*, std::size_t) { return cudaSuccess; }',
    '  cudaError_t pointers(void**, const void* const*, int) { return cudaSuccess; }',
    '};',
    `void run_${name}() {`,
    `  static const long long rows[][${names.length}] = {${rows.join(', ')}};`,
    '  for (const auto& row : rows) {',
    `    ${name}::Dimensions dimensions;`,
    ...names.map((dimension, index) => `    dimensions.${fields.of(dimension)} = row[${index}];`),
    `    ${name}::Device device;`,
    `    device.sm_count = ${DEVICE.smCount};`,
    `    device.ctas_per_sm = ${DEVICE.ctasPerSm};`,
    `    device.shared_bytes_per_cta = ${DEVICE.sharedBytesPerCta};`,
    `    ${name}::Buffers buffers;`,
    ...buffersOf(problem).map(
      (buffer, index) => `    buffers.${buffers.of(buffer)} = reinterpret_cast<void*>(${bufferBase(index)}ull);`,
    ),
    `    ${name}::detail::Check check(nullptr);`,
    `    ${name}::detail::Layout layout;`,
    `    const ${name}::detail::Scope scope(dimensions, device);`,
    '    scope.verify(check, dimensions);',
    '    if (!check.failed()) scope.measure(check, layout);',
    `    Show<${name}::Launch> show;`,
    `    Silent_${name} silent;`,
    '    std::string why;',
    `    void* workspace = reinterpret_cast<void*>(${WORKSPACE_BASE}ull);`,
    `    if (${name}::plan(dimensions, device, buffers, workspace, silent, &why) != cudaSuccess) {`,
    '      std::printf(why.empty() ? "no reason\\n" : "refused\\n");',
    '    } else {',
    `      std::printf("sizes${' %zu'.repeat(buffersOf(problem).length + 1)}\\n", ${[
      ...buffersOf(problem).map((buffer) => `layout.sizes.${sizes.of(buffer)}`),
      'layout.sizes.workspace_bytes',
    ].join(', ')});`,
    `      ${name}::plan(dimensions, device, buffers, workspace, show);`,
    '    }',
    '    std::printf("end\\n");',
    '  }',
    '}',
  ];
};

/** What the launch headers plan, for each case and each of its dimensions. */
export const plansInCpp = (cases: readonly PlanCase[]): PlanText[][] => {
  const named = cases.map((plan, index) => ({ plan, name: `kernel${index}` }));
  const headers = Object.fromEntries(
    named.map(({ plan: { problem, candidate }, name }) => [
      `${name}_launch.hpp`,
      launchHeader({ problem, candidate, name, provenance: [] }),
    ]),
  );
  const main = [
    ...named.map(({ name }) => `#include "${name}_launch.hpp"`),
    STUB_DEFINITIONS,
    SHOW,
    ...named.map(({ name }) => `const void* ${name}::function(int) { return nullptr; }`),
    ...named.map(
      ({ name }) =>
        `cudaError_t ${name}::detail::write_pointers(void**, const void* const*, int, cudaStream_t) { return cudaSuccess; }`,
    ),
    ...named.flatMap(({ plan, name }) => planCalls(plan, name)),
    'int main() {',
    ...named.map(({ name }) => `  run_${name}();`),
    '}',
    '',
  ].join('\n');
  const plans = runHostProgram({ ...headers, 'main.cpp': main })
    .split('end\n')
    .map((text) => text.split('\n').filter((line) => line !== ''));
  let next = 0;
  return cases.map(({ dimensions }) => dimensions.map(() => plans[next++]!));
};

/** What the launch planner makes of the same. */
export const plansHere = ({ problem, candidate, dimensions }: PlanCase): PlanText[] =>
  dimensions.map((values) => {
    try {
      const { file } = candidate.kernel;
      if (
        !isShapeOf(problem, values) ||
        failedLimit(file, values) ||
        failedConstraint(file, candidate.parameters, values)
      )
        return ['refused'];
      const plan = expandPlan({
        problem,
        kernel: file,
        parameters: candidate.parameters,
        dimensions: values,
        device: DEVICE,
        ctasPerSm: DEVICE.ctasPerSm,
      });
      return plan.steps.length === 0 ? ['refused'] : describePlan(plan, candidate, problem);
    } catch (error) {
      if (error instanceof WarpsmithError) return ['refused'];
      throw error;
    }
  });

const roundUp = (bytes: number, multiple: number): number => Math.ceil(bytes / multiple) * multiple;

/** Where the header puts things: workspaces one behind the other, then the arrays of pointers. */
const addressesOf = (plan: LaunchPlan, candidate: Candidate) => {
  const addresses = new Map<string, number>();
  let end = 0;
  plan.buffers.forEach((buffer, index) => {
    if (buffer.role !== 'workspace') addresses.set(buffer.name, bufferBase(index));
    else {
      const start = roundUp(end, buffer.alignmentBytes);
      addresses.set(buffer.name, WORKSPACE_BASE + start);
      end = start + buffer.bytes;
    }
  });
  const tables: number[] = [];
  for (const step of launchesOf(candidate.kernel.file.steps)) {
    for (const argument of step.arguments) {
      if (!('pointers' in argument)) continue;
      const start = roundUp(end, 256);
      tables.push(WORKSPACE_BASE + start);
      end = start + 8 * argument.pointers.length;
    }
  }
  return { addresses, tables, workspaceBytes: end };
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const pointer = (address: number): string => hex(new Uint8Array(BigUint64Array.of(BigInt(address)).buffer));

const describePlan = (plan: LaunchPlan, candidate: Candidate, problem: ProblemFile): string[] => {
  const { addresses, tables, workspaceBytes } = addressesOf(plan, candidate);
  const bytesOf = new Map(plan.buffers.map(({ name, bytes }) => [name, bytes]));
  const sizes = buffersOf(problem).map((name) => bytesOf.get(name) ?? 0);
  const memset = (buffer: string, value: number): string =>
    `memset ${addresses.get(buffer)!.toString(16)} ${value} ${bytesOf.get(buffer)}`;
  const zeroed = plan.buffers.filter(({ init }) => init === 'zero').map(({ name }) => memset(name, 0));
  const lines = [`sizes ${[...sizes, workspaceBytes].join(' ')}`, ...zeroed];
  const place = ({ buffer, offsetBytes }: { buffer: string; offsetBytes: number }): number =>
    addresses.get(buffer)! + offsetBytes;
  const describeArgument = (argument: PlannedArgument): string => {
    switch (argument.kind) {
      case 'buffer':
        return pointer(place(argument));
      case 'null':
        return pointer(0);
      case 'scalar':
        return hex(encode([argument.value], argument.dtype)).padEnd(2 * sizeOfDType(argument.dtype), '0');
      case 'bytes':
        return hex(argument.bytes);
      case 'pointers':
        return pointer(tables[0]!);
      case 'tensor-map':
        // Encoded by the driver, so not in a plan.
        return '00'.repeat(128);
    }
  };
  let previous: PlannedStep | undefined;
  for (const step of plan.steps) {
    if (step.kind === 'memset') lines.push(memset(step.buffer, step.byteValue));
    else if (step.kind === 'copy')
      lines.push(`copy ${place(step.to).toString(16)} ${place(step.from).toString(16)} ${step.bytes}`);
    else {
      const arrays = step.arguments.filter((argument) => argument.kind === 'pointers');
      for (const { targets } of arrays)
        lines.push(`pointers ${[tables[0]!, ...targets.map(place)].map((at) => at.toString(16)).join(' ')}`);
      const dependent = step.programmaticDependent && previous?.kind === 'launch' && arrays.length === 0;
      lines.push(
        [
          `launch ${step.functionName} grid ${step.grid.join(',')} block ${step.block.join(',')} shared ${step.dynamicSharedBytes}`,
          ...(step.cluster ? [`cluster ${step.cluster.join(',')}`] : []),
          ...(step.cooperative ? ['cooperative'] : []),
          ...(dependent ? ['dependent'] : []),
          ...(step.carveOut === undefined ? [] : [`carve-out ${step.carveOut}`]),
          ...step.arguments.map(describeArgument),
        ].join(' '),
      );
    }
    previous = step;
  }
  return lines;
};
