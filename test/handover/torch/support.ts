import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ComparedSizes } from '../../../src/core/compared-sizes.ts';
import { type DType, sizeOfDType } from '../../../src/core/dtype.ts';
import type { ArgumentDeclaration, Candidate } from '../../../src/core/kernel.ts';
import type { LaunchPlan, PlannedArgument } from '../../../src/core/launch-plan.ts';
import { launchesOf } from '../../../src/core/plan/declared-steps.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import { expandPlan } from '../../../src/core/plan/expand-plan.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { encode } from '../../../src/core/rounding.ts';
import { argumentBytes } from '../../../src/devices/match-arguments.ts';
import { callShape } from '../../../src/handover/torch/call-shape.ts';
import type { TorchTable } from '../../../src/handover/torch/problem-module.ts';
import { torchPackage } from '../../../src/handover/torch/torch-package.ts';
import { findExecutable } from '../../../src/process/find-executable.ts';

export const python = findExecutable('python3');
const FAKE = new URL('./fake/', import.meta.url).pathname;

/** What the fake driver says of its device. */
export const DEVICE = { smCount: 132, ctasPerSm: 3, sharedBytesPerCta: 232_448 };

const TORCH_DTYPES: Readonly<Record<DType, string>> = {
  f16: 'float16',
  bf16: 'bfloat16',
  f32: 'float32',
  f64: 'float64',
  i8: 'int8',
  u8: 'uint8',
  i16: 'int16',
  u16: 'uint16',
  i32: 'int32',
  u32: 'uint32',
  i64: 'int64',
  u64: 'uint64',
};

/** A package whose machine code is empty files: enough where nothing is launched. */
export const packageOf = (
  problem: ProblemFile,
  candidates: readonly Candidate[],
  {
    name,
    table = { entries: [], fallback: 0 },
    compared = [],
  }: { name: string; table?: TorchTable; compared?: readonly ComparedSizes[] },
) =>
  torchPackage({
    problem,
    kernels: candidates.map((candidate, index) => ({
      candidate,
      compared: compared[index],
      code: (candidate.kernel.file.source.architectures ?? ['sm_80', 'sm_90']).map((architecture) => ({
        kind: 'cubin' as const,
        text: Buffer.from('cubin').toString('base64'),
        architecture,
        compiler: { name: 'none', version: '0' },
        functionSymbols: Object.fromEntries(
          launchesOf(candidate.kernel.file.steps).map((step) => [step.function, `_${step.function}`]),
        ),
        key: '',
        diagnostics: [],
      })),
    })),
    table,
    name,
    dimensions: problem.workloads[0]!.dimensions,
    sentences: ['Not compiled.'],
    evidence: null,
    version: 'test',
    date: '2026-01-31T00:00:00Z',
  });

export interface Call {
  readonly tensors: readonly {
    shape: readonly number[];
    strides: readonly number[];
    dtype: string;
    address: number;
    device?: string;
  }[];
  readonly options: Readonly<Record<string, unknown>>;
}

export const operandAddress = (index: number): number => 0x1000_0000_0000 * (index + 1);

/** The call of these dimensions as a user makes it: tensors with the strides they ask for, all other dimensions by name. */
export function callOf(problem: ProblemFile, dimensions: Dimensions): Call {
  const { operands, keywords } = callShape(problem);
  const buffers = new Map(expandBuffers(problem, dimensions).map((buffer) => [buffer.name, buffer]));
  return {
    tensors: operands.map(({ name, buffer }, index) => {
      const { shape, strides } = buffers.get(name)!;
      return { shape, strides, dtype: TORCH_DTYPES[buffer.dtype], address: operandAddress(index) };
    }),
    options: Object.fromEntries(
      keywords.filter(({ told }) => told === undefined).map(({ name }) => [name, dimensions[name]]),
    ),
  };
}

export interface Answer {
  readonly error?: string;
  readonly events?: readonly Record<string, unknown>[];
  readonly results?: readonly { address: number; shape: number[]; strides: number[]; dtype: string }[];
  /** Workspaces of the call, from PyTorch's allocator. */
  readonly allocations?: readonly { address: number; shape: number[] }[];
  /** What is kept from call to call, by dimensions. */
  readonly kept?: readonly { key: number[]; address: number }[];
}

export interface CalledPackage {
  /** Below the folder that holds all of them. */
  readonly name: string;
  readonly functionName: string;
  readonly candidates: readonly Candidate[];
  readonly calls: readonly Call[];
}

/** Runs calls of packages that lie in `folder/<name>/`, with a fake PyTorch and a fake driver, in one Python. */
export function runCalls(folder: string, packages: readonly CalledPackage[]): Answer[][] {
  const request = {
    device: {
      sm_count: DEVICE.smCount,
      shared_bytes: DEVICE.sharedBytesPerCta,
      capability: [9, 0],
      ctas_per_sm: DEVICE.ctasPerSm,
    },
    packages: packages.map(({ name, functionName, candidates, calls }) => ({
      folder: join(folder, name),
      name,
      function: functionName,
      argumentBytes: Object.assign({}, ...candidates.map(parameterBytes)),
      calls,
    })),
  };
  return JSON.parse(runPython([join(FAKE, 'run_calls.py')], folder, JSON.stringify(request))) as Answer[][];
}

export function runPython(args: readonly string[], cwd: string, input = ''): string {
  const { status, stdout, stderr } = spawnSync(python!, ['-S', '-B', ...args], {
    cwd,
    input,
    encoding: 'utf8',
    timeout: 120_000,
    maxBuffer: 256 << 20,
    env: { PYTHONPATH: FAKE, PATH: process.env.PATH },
  });
  if (status !== 0) throw new Error(`python3 exited with ${status}: ${stderr}`);
  return stdout;
}

/** Symbol → bytes of each parameter, as declared. */
export const parameterBytes = ({ kernel }: Candidate): Record<string, number[]> =>
  Object.fromEntries(
    launchesOf(kernel.file.steps).map((step) => [`_${step.function}`, step.arguments.map(declaredBytes)]),
  );

function declaredBytes(argument: ArgumentDeclaration): number {
  if ('scalar' in argument) return sizeOfDType(argument.dtype);
  if ('tensorMap' in argument) return 128;
  if ('bytes' in argument) return argument.bytes.length / 2;
  if ('struct' in argument) {
    const fields = argument.struct.map(({ dtype }) => sizeOfDType(dtype));
    const largest = Math.max(...fields);
    const end = fields.reduce((at, size) => Math.ceil(at / size) * size + size, 0);
    return Math.ceil(end / largest) * largest;
  }
  return 8;
}

const TENSOR_MAP_CODES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  dtype: { f16: 6, bf16: 9, f32: 7 },
  interleave: { none: 0, '16B': 1, '32B': 2 },
  swizzle: { none: 0, '32B': 1, '64B': 2, '128B': 3 },
  l2Promotion: { none: 0, '64B': 1, '128B': 2, '256B': 3 },
  fill: { zeros: 0, nan: 1 },
};

/** What the driver must be asked, by warpsmith's own launch plan; addresses are those of the answer. */
export function expectedEvents(
  problem: ProblemFile,
  candidate: Candidate,
  dimensions: Dimensions,
  answer: Answer,
): unknown[] {
  const plan = expandPlan({
    problem,
    kernel: candidate.kernel.file,
    parameters: candidate.parameters,
    dimensions,
    device: DEVICE,
    ctasPerSm: DEVICE.ctasPerSm,
  });
  const { addresses, tables } = addressesOf(problem, plan, dimensions, answer);
  const bytesOf = new Map(plan.buffers.map(({ name, bytes }) => [name, bytes]));
  const memset = (buffer: string, value: number) => ({
    memset: addresses.get(buffer),
    value,
    bytes: bytesOf.get(buffer),
    stream: 0,
  });
  const place = ({ buffer, offsetBytes }: { buffer: string; offsetBytes: number }): number =>
    addresses.get(buffer)! + offsetBytes;
  const events: unknown[] = plan.buffers.filter(({ init }) => init === 'zero').map(({ name }) => memset(name, 0));
  let [previous, table] = ['none', 0];
  for (const step of plan.steps) {
    if (step.kind === 'memset') events.push(memset(step.buffer, step.byteValue));
    else if (step.kind === 'copy')
      events.push({ copy: place(step.to), from: place(step.from), bytes: step.bytes, stream: 0 });
    else {
      const own = step.arguments.map((argument) => (argument.kind === 'pointers' ? tables[table++]! : 0));
      for (const [index, argument] of step.arguments.entries()) {
        if (argument.kind !== 'pointers') continue;
        for (const [at, target] of argument.targets.entries()) {
          const words = Uint32Array.from([place(target) % 2 ** 32, Math.floor(place(target) / 2 ** 32)]);
          events.push({ store: own[index]! + 8 * at, value: words[0], count: 1, stream: 0 });
          events.push({ store: own[index]! + 8 * at + 4, value: words[1], count: 1, stream: 0 });
        }
      }
      const early = step.programmaticDependent && previous === 'launch' && own.every((at) => at === 0);
      events.push({
        launch: `_${step.functionName}`,
        grid: step.grid,
        block: step.block,
        shared: step.dynamicSharedBytes,
        stream: 0,
        ...(step.cluster && { cluster: step.cluster }),
        ...(step.cooperative && { cooperative: 1 }),
        ...(early && { dependent: 1 }),
        arguments: step.arguments.map((argument, index) => {
          if (argument.kind === 'tensor-map') return describeMap(argument, addresses.get(argument.buffer)!);
          if (argument.kind === 'pointers') return hexOf(own[index]!);
          return argument.kind === 'buffer' ? hexOf(place(argument)) : rawBytes(argument);
        }),
      });
    }
    previous = step.kind;
  }
  return events;
}

const hexOf = (address: number): string => Buffer.from(BigUint64Array.of(BigInt(address)).buffer).toString('hex');

function rawBytes(argument: PlannedArgument): string {
  if (argument.kind === 'scalar') return Buffer.from(encode([argument.value], argument.dtype)).toString('hex');
  if (argument.kind === 'bytes') return Buffer.from(argument.bytes).toString('hex');
  return '00'.repeat(argumentBytes(argument));
}

const describeMap = (map: Extract<PlannedArgument, { kind: 'tensor-map' }>, address: number) => ({
  dtype: TENSOR_MAP_CODES.dtype![map.dtype],
  address,
  lists: [map.globalDim, map.globalStridesBytes, map.boxDim, map.elementStrides],
  modes: (['interleave', 'swizzle', 'l2Promotion', 'fill'] as const).map((key) => TENSOR_MAP_CODES[key]![map[key]]),
});

const roundUp = (bytes: number, multiple: number): number => Math.ceil(bytes / multiple) * multiple;

/** Operands where the test put them, results where the package put them, workspaces one behind the other. */
function addressesOf(problem: ProblemFile, plan: LaunchPlan, dimensions: Dimensions, answer: Answer) {
  const { results = [], allocations = [], kept = [] } = answer;
  const call = callShape(problem);
  const addresses = new Map(call.operands.map(({ name }, index) => [name, operandAddress(index)]));
  const present = call.results.filter(({ name }) => plan.buffers.some((buffer) => buffer.name === name));
  for (const [index, { name }] of present.entries()) addresses.set(name, results[index]!.address);
  const workspaces = plan.buffers.filter(({ role }) => role === 'workspace');
  const align = Math.max(1, ...workspaces.map(({ alignmentBytes }) => alignmentBytes));
  const bases = allocations.map(({ address }) => roundUp(address, align));
  let end = 0;
  const put = (buffer: (typeof workspaces)[number], base: number): void => {
    const start = roundUp(end, buffer.alignmentBytes);
    addresses.set(buffer.name, base + start);
    end = start + buffer.bytes;
  };
  const passing = workspaces.filter(({ init }) => init !== 'once');
  const lasting = workspaces.filter(({ init }) => init === 'once');
  const arrays = plan.steps.flatMap((step) =>
    step.kind === 'launch' ? step.arguments.filter((argument) => argument.kind === 'pointers') : [],
  );
  for (const buffer of passing) put(buffer, bases[0]!);
  const tables = arrays.map(({ targets }) => {
    const start = roundUp(end, 256);
    end = start + 8 * targets.length;
    return bases[0]! + start;
  });
  end = 0;
  const own = Object.keys(problem.dimensions).map((name) => dimensions[name]);
  for (const buffer of lasting) put(buffer, kept.find(({ key }) => isDeepStrictEqual(key, own))!.address);
  return { addresses, tables };
}
