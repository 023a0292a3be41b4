import { type DType, sizeOfDType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import {
  type Amount,
  combineAmounts,
  constant,
  evaluateAmount,
  growingRootsOf,
  printAmount,
  replaceRoots,
  root,
  rootsOf,
} from '../../cuda-source/amounts.ts';
import type { Filling, HostEvent, HostFacts, Memory, NamedSize, Value } from '../../cuda-source/host-values.ts';
import { type CudaSource, resolveAlias } from '../../cuda-source/source.ts';
import { dtypeOf, sizeOfType, vectorOf } from '../../cuda-source/types.ts';
import { type KernelLaunch, readAmount } from './launches.ts';
import { Missing } from './missing.ts';
import type { InitOptions } from './options.ts';
import type { ParameterAccess } from './parameter-access.ts';

/** A size that becomes a dimension of the problem. */
interface DraftDimension {
  readonly name: string;
  readonly value: number;
  /** The device code has it as a constant, so that only this value will do. */
  readonly isFixed: boolean;
  /** The least value with which no buffer is empty. */
  readonly minimum: number;
}

type Role = 'in' | 'out' | 'inout' | 'workspace';

export interface DraftBuffer {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Amount[];
  readonly role: Role;
  /** Whether host code zeroes it before the launches. */
  readonly isZeroed: boolean;
  readonly memory: Memory;
  /** How host code fills it, if that is to be seen. */
  readonly filling: Filling | undefined;
}

export const isInput = ({ role }: DraftBuffer): boolean => role === 'in' || role === 'inout';
export const isResult = ({ role }: DraftBuffer): boolean => role === 'out' || role === 'inout';

/** `A[M, K]` */
export const describeBuffer = ({ name, shape }: DraftBuffer): string =>
  `${name}[${shape.map((one) => printAmount(one)).join(', ')}]`;

export const elementsOf = (shape: readonly Amount[]): Amount =>
  shape.reduce((all, one): Amount => ({ kind: 'operation', operator: '*', operands: [all, one] }));

export const isNumber = (amount: Amount, value: number): boolean =>
  amount.kind === 'constant' && amount.value === value;

export type DraftArgument =
  | { readonly kind: 'buffer'; readonly buffer: DraftBuffer; readonly offset: Amount }
  | { readonly kind: 'null' }
  | { readonly kind: 'scalar'; readonly value: Amount; readonly dtype: DType };

export interface DraftStep {
  readonly functionName: string;
  readonly grid: readonly Amount[];
  readonly block: readonly Amount[];
  readonly sharedBytes: Amount;
  readonly arguments: readonly DraftArgument[];
}

/** What the file says about its problem, with what the user said beside it. */
export interface Draft {
  readonly dimensions: readonly DraftDimension[];
  readonly buffers: readonly DraftBuffer[];
  readonly steps: readonly DraftStep[];
  /** Whether results depend on an order that no run repeats. */
  readonly addsAtomically: boolean;
  readonly notes: readonly string[];
  /** The steps and the shapes of workspaces before names other than dimensions became numbers. */
  readonly open: {
    readonly steps: readonly DraftStep[];
    readonly shapes: ReadonlyMap<DraftBuffer, readonly Amount[]>;
  };
  /** Names that say how large inputs and outputs are. */
  readonly sizing: ReadonlySet<string>;
}

/** A launch with what its compiled function does. */
export interface CompiledLaunch extends KernelLaunch {
  readonly access: readonly ParameterAccess[];
}

/**
 * Puts together dimensions, buffers and steps.
 *
 * @param fixed names that the device code defines as constants.
 * @throws Missing for what neither file nor options say; WarpsmithError for what a problem can't express.
 */
export function draftProblem(
  source: CudaSource,
  facts: HostFacts,
  launches: readonly CompiledLaunch[],
  options: InitOptions,
  fixed: ReadonlySet<string>,
): Draft {
  return new Drafting(source, facts, launches, options, fixed).run();
}

class Drafting {
  readonly #source: CudaSource;
  readonly #facts: HostFacts;
  readonly #launches: readonly CompiledLaunch[];
  readonly #options: InitOptions;
  readonly #fixed: ReadonlySet<string>;
  readonly #notes: string[] = [];

  constructor(
    source: CudaSource,
    facts: HostFacts,
    launches: readonly CompiledLaunch[],
    options: InitOptions,
    fixed: ReadonlySet<string>,
  ) {
    this.#source = source;
    this.#facts = facts;
    this.#launches = launches;
    this.#options = options;
    this.#fixed = new Set([...fixed, ...templateNames(launches)]);
  }

  run(): Draft {
    const uses = this.#memoryUses();
    const sizes = new Map([...uses.keys()].map((memory) => [memory, this.#elements(memory)] as const));
    const launchAmounts = this.#launches.map((launch) => this.#configuration(launch));
    const names = this.#dimensionNames(
      [...sizes.values()].map(({ count }) => count),
      launchAmounts,
    );
    const settle = (amount: Amount): Amount => this.#withNumbers(amount, names);
    const buffers = this.#buffers(uses, sizes, settle, names);
    const stepsWith = (as: (amount: Amount) => Amount): DraftStep[] =>
      this.#launches.map((launch, i) => {
        const { grid, block, sharedBytes } = launchAmounts[i]!;
        return {
          functionName: launch.functionName,
          grid: trimmed(grid.map(as)),
          block: trimmed(block.map(as)),
          sharedBytes: as(sharedBytes),
          arguments: launch.launch.arguments.map((value, index) => this.#argument(launch, index, value, buffers, as)),
        };
      });
    const countOf = ({ memory }: DraftBuffer): Amount => sizes.get(memory)!.count;
    const extentOf = ({ memory }: DraftBuffer): Amount[] => vectorExtent(sizes.get(memory)!.vector);
    const steps = stepsWith(settle);
    const open = {
      steps: stepsWith((amount) => amount),
      shapes: new Map(
        buffers
          .filter(({ role }) => role === 'workspace')
          .map((buffer) => [buffer, [...shapeOf(countOf(buffer)), ...extentOf(buffer)]] as const),
      ),
    };
    const sizing = new Set(buffers.filter(({ role }) => role !== 'workspace').flatMap((one) => rootsOf(countOf(one))));
    const dimensions = [...names].map((name) => this.#dimension(name, names, buffers));
    const addsAtomically = this.#launches.some(({ access }) => access.some((one) => one.addsAtomically));
    return { dimensions, buffers, steps, addsAtomically, notes: this.#notes, open, sizing };
  }

  #value(name: string): number | undefined {
    return this.#options.values[name] ?? this.#facts.sizes.get(name)?.value;
  }

  #dimension(name: string, names: ReadonlySet<string>, buffers: readonly DraftBuffer[]): DraftDimension {
    const value = this.#value(name);
    if (value === undefined) throw this.#missingSize(name);
    const extents = buffers.flatMap(({ shape }) => shape).filter((extent) => rootsOf(extent).includes(name));
    const fits = (size: number): boolean =>
      extents.every((extent) => {
        const at = (root: string) => (root === name ? size : names.has(root) ? this.#value(root) : undefined);
        return (evaluateAmount(extent, at) ?? 1) >= 1;
      });
    let minimum = 1;
    while (minimum < value && !fits(minimum)) minimum++;
    return { name, value, isFixed: this.#fixed.has(name), minimum };
  }

  #missingSize(name: string): Missing {
    return new Missing(
      {
        option: 'value',
        subject: name,
        message: `${this.#source.file} does not say what ${name} is.`,
        received: `${name}, which is read at run time or nowhere set`,
        expected: 'its value in the workload to time',
      },
      this.#source.file,
    );
  }

  /** Every memory that a launch works on, with the launches' parameters that get it. */
  #memoryUses(): Map<Memory, ParameterAccess[]> {
    const uses = new Map<Memory, ParameterAccess[]>();
    for (const { launch, access } of this.#launches) {
      launch.arguments.forEach((value, i) => {
        if (value.kind !== 'pointer') return;
        uses.set(value.memory, [...(uses.get(value.memory) ?? []), access[i]!]);
      });
    }
    return uses;
  }

  #elements(memory: Memory): { dtype: DType; count: Amount; vector: number } {
    const type = this.#elementType(memory);
    const vector = vectorOf(type);
    const dtype = vector?.dtype ?? dtypeOf({ base: type, pointers: 0 });
    if (dtype === undefined) throw this.#unsupportedType(memory, type);
    const width = vector && vector.count > 1 ? vector.count : 1;
    const given = this.#options.buffers.map((text) => text.split('=')).find(([name]) => isNameOf(memory, name!));
    if (given) return { dtype, count: readAmount(given.slice(1).join('='), '--buffer'), vector: width };
    if (memory.bytes === undefined) throw this.#missingElements(memory);
    const bytes = sizeOfType({ base: type, pointers: 0, isConst: false, isReference: false, templateArguments: [] })!;
    return { dtype, count: combineAmounts('//', memory.bytes, constant(bytes)), vector: width };
  }

  /** As the host's variable says; where that is `void`, as the kernel's parameter says. */
  #elementType(memory: Memory): string {
    if (memory.elementType !== undefined && dtypeOf({ base: memory.elementType, pointers: 0 }))
      return memory.elementType;
    for (const { launch, kernel } of this.#launches) {
      const index = launch.arguments.findIndex((value) => value.kind === 'pointer' && value.memory === memory);
      const written = kernel.function!.parameters[index]?.type;
      const type = written && resolveAlias(this.#source, written);
      if (type && (dtypeOf({ base: type.base, pointers: 0 }) || vectorOf(type.base))) return type.base;
    }
    return memory.elementType ?? 'void';
  }

  #missingElements(memory: Memory): Missing {
    const name = bufferName(memory.name);
    return new Missing(
      {
        option: 'buffer',
        subject: name,
        message: `${this.#source.file} does not say how many elements ${name} has.`,
        received: `${memory.name}, without a cudaMalloc of known size`,
        expected: `a number or an expression of sizes, such as ${name}=M*K`,
      },
      this.#source.file,
    );
  }

  #unsupportedType(memory: Memory, type: string): WarpsmithError {
    return new WarpsmithError({
      code: 'unsupported-type',
      message: `Elements of ${memory.name} are of type ${type}, which a problem can't express.`,
      file: this.#source.file,
      received: type,
      expected: 'float, double, half, __nv_bfloat16, integers, and vectors of them such as float4',
      hint: 'Pass the members of a struct as arrays of their own, or as one array of their type.',
    });
  }

  #configuration({ launch, kernel }: CompiledLaunch): {
    grid: readonly Amount[];
    block: readonly Amount[];
    sharedBytes: Amount;
  } {
    const { grid, block, shared } = this.#options;
    return {
      grid:
        grid === undefined ? this.#triple('grid', launch.grid, kernel.name, launch.line) : givenTriple(grid, '--grid'),
      block:
        block === undefined
          ? this.#triple('block', launch.block, kernel.name, launch.line)
          : givenTriple(block, '--block'),
      sharedBytes:
        shared === undefined
          ? this.#shared(launch.sharedBytes, kernel.name, launch.line)
          : readAmount(shared, '--shared'),
    };
  }

  #triple(option: 'grid' | 'block', value: Value, kernel: string, line: number): readonly Amount[] {
    if (value.kind === 'triple') return value.parts;
    throw this.#missingLaunch(option, value, kernel, line);
  }

  #shared(value: Value, kernel: string, line: number): Amount {
    if (value.kind === 'amount') return value.amount;
    throw this.#missingLaunch('shared', value, kernel, line);
  }

  #missingLaunch(option: 'grid' | 'block' | 'shared', value: Value, kernel: string, line: number): Missing {
    const what = option === 'shared' ? 'shared memory' : option;
    return new Missing(
      {
        option,
        subject: kernel,
        message: `The ${what} of ${kernel} can't be worked out from the file.`,
        received: value.kind === 'unknown' ? value.text : value.kind,
        expected: 'expressions of the sizes, x first',
        line,
      },
      this.#source.file,
    );
  }

  /** Sizes of buffers, and whole numbers that kernels are passed and that do not shape their blocks. */
  #dimensionNames(
    counts: readonly Amount[],
    launches: readonly { block: readonly Amount[]; sharedBytes: Amount }[],
  ): Set<string> {
    const inSizes = counts.flatMap(growingRootsOf);
    const ofBlocks = new Set(launches.flatMap(({ block, sharedBytes }) => [...block, sharedBytes].flatMap(rootsOf)));
    const passed = this.#launches.flatMap(({ launch, kernel }) =>
      launch.arguments.flatMap((value, i) => {
        const type = kernel.function!.parameters[i]?.type;
        const dtype = type && dtypeOf(resolveAlias(this.#source, type));
        const isWhole = dtype !== undefined && /^[iu]/.test(dtype);
        if (value.kind !== 'amount' || !isWhole) return [];
        return growingRootsOf(value.amount).filter((name) => !ofBlocks.has(name));
      }),
    );
    const inGrids = this.#launches.flatMap(({ launch }) =>
      launch.grid.kind === 'triple' ? launch.grid.parts.flatMap(rootsOf) : [],
    );
    const given = Object.keys(this.#options.values).filter((name) => inGrids.includes(name));
    const names = [...passed, ...inSizes, ...given].filter((name) => !name.includes('.') && !this.#isReal(name));
    // What the device code fixes is a number, unless it is all that there is.
    const open = names.filter((name) => !this.#fixed.has(name));
    return new Set(open.length > 0 ? open : names);
  }

  #isReal(name: string): boolean {
    return this.#facts.sizes.get(name)?.isFloating ?? false;
  }

  /** The same with all names but dimensions replaced by their numbers. */
  #withNumbers(amount: Amount, dimensions: ReadonlySet<string>): Amount {
    return replaceRoots(amount, (name) => {
      if (dimensions.has(name) || name.includes('.')) return undefined;
      const value = this.#value(name);
      if (value === undefined) throw this.#missingSize(name);
      return constant(value, this.#isReal(name));
    });
  }

  #buffers(
    uses: ReadonlyMap<Memory, readonly ParameterAccess[]>,
    sizes: ReadonlyMap<Memory, { dtype: DType; count: Amount; vector: number }>,
    settle: (amount: Amount) => Amount,
    dimensions: ReadonlySet<string>,
  ): DraftBuffer[] {
    const taken = new Set<string>(dimensions);
    return [...uses].map(([memory, accesses]) => {
      const { dtype, count, vector } = sizes.get(memory)!;
      const shape = [...shapeOf(settle(count)), ...vectorExtent(vector)];
      const { role, isZeroed } = this.#roleOf(memory, accesses);
      let name = bufferName(memory.name);
      while (taken.has(name)) name = `${name}_`;
      taken.add(name);
      return { name, dtype, shape, role, isZeroed, memory, filling: this.#fillingOf(memory, settle) };
    });
  }

  #fillingOf(memory: Memory, settle: (amount: Amount) => Amount): Filling | undefined {
    const uploads = this.#facts.events.flatMap((event) =>
      (event.kind === 'upload' || event.kind === 'upload-constant') && event.memory === memory ? [event.from] : [],
    );
    const filling = memory.filling ?? uploads.find((from) => from?.filling)?.filling;
    return filling?.kind === 'range' ? { ...filling, high: settle(filling.high) } : filling;
  }

  #roleOf(memory: Memory, accesses: readonly ParameterAccess[]): { role: Role; isZeroed: boolean } {
    const first = this.#facts.events.findIndex(({ kind }) => kind === 'launch');
    const before = this.#facts.events.slice(0, Math.max(first, 0)).filter((event) => isAbout(event, memory));
    const filled = before.findLast(({ kind }) => kind === 'upload' || kind === 'memset' || kind === 'copy');
    const isZeroed = filled?.kind === 'memset' && isZero(filled.value, this.#facts.sizes);
    const isDownloaded = this.#facts.events.some((event) => event.kind === 'download' && event.memory === memory);
    const anyDownloaded = this.#facts.events.some(({ kind }) => kind === 'download');
    const isWritten = accesses.some(({ writes }) => writes);
    if (!isWritten) return { role: 'in', isZeroed: false };
    const readsFirst = accesses.find(({ reads, writes }) => reads || writes)!.readsFirst;
    const isResult = isDownloaded || memory.space === 'managed' || !anyDownloaded;
    if (isZeroed) return { role: isResult ? 'out' : 'workspace', isZeroed };
    if (readsFirst) return { role: 'inout', isZeroed: false };
    const isRead = accesses.some(({ reads }) => reads);
    return { role: isResult || !isRead ? 'out' : 'workspace', isZeroed: false };
  }

  #argument(
    { kernel, access, launch }: CompiledLaunch,
    index: number,
    value: Value,
    buffers: readonly DraftBuffer[],
    settle: (amount: Amount) => Amount,
  ): DraftArgument {
    const parameter = kernel.function!.parameters[index];
    if (value.kind === 'null') return { kind: 'null' };
    if (value.kind === 'pointer') {
      const buffer = buffers.find(({ memory }) => memory === value.memory)!;
      const width = sizeOfDType(buffer.dtype);
      return { kind: 'buffer', buffer, offset: settle(combineAmounts('*', value.offset, constant(width))) };
    }
    const name = parameter?.name ?? '';
    const dtype = parameter
      ? (dtypeOf(resolveAlias(this.#source, parameter.type)) ?? dtypeOfBytes(access[index]!.sizeBytes))
      : undefined;
    if (value.kind === 'amount' && dtype) return { kind: 'scalar', value: settle(value.amount), dtype };
    // A kernel that the file launches nowhere gets what is named like its parameters.
    if (this.#options.values[name] !== undefined && dtype) return { kind: 'scalar', value: settle(root(name)), dtype };
    if (value.kind === 'unknown' && /which a loop counts$/.test(value.text))
      throw this.#loopCounter(name, kernel.name, launch.line);
    if (dtype && parameter && parameter.type.pointers === 0)
      throw this.#missingArgument(name, value, kernel.name, launch.line);
    throw new WarpsmithError({
      code: 'unsupported-argument',
      message: `Argument ${index + 1} of ${kernel.name}, ${name || 'unnamed'}, is nothing that kernel.json passes by itself.`,
      file: this.#source.file,
      path: `line ${launch.line}`,
      received: `${parameter?.type.base ?? 'more arguments than parameters'}: ${value.kind === 'unknown' ? value.text : value.kind}`,
      expected: 'numbers, and pointers from cudaMalloc',
      hint: 'Pass the members of a struct as parameters of their own.',
    });
  }

  #loopCounter(name: string, kernel: string, line: number): WarpsmithError {
    return new WarpsmithError({
      code: 'launched-in-a-loop',
      message: `${kernel} is launched in a loop that counts ${name}: its launches differ.`,
      file: this.#source.file,
      path: `line ${line}`,
      received: `${name}, which a loop counts`,
      expected: 'launches whose arguments follow from sizes',
      hint: `Take one of them with --value ${name}=1, then write the loop in kernel.json with "repeat" and repeat.index.`,
    });
  }

  #missingArgument(name: string, value: Value, kernel: string, line: number): Missing {
    return new Missing(
      {
        option: 'value',
        subject: name,
        message: `What ${kernel} is passed for ${name} can't be worked out from the file.`,
        received: value.kind === 'unknown' ? value.text : value.kind,
        expected: `a number for ${name}`,
        line,
      },
      this.#source.file,
    );
  }
}

const DTYPE_OF_BYTES: Readonly<Record<number, DType>> = { 1: 'u8', 2: 'u16', 4: 'i32', 8: 'i64' };
const dtypeOfBytes = (bytes: number): DType | undefined => DTYPE_OF_BYTES[bytes];

const isAbout = (event: HostEvent, memory: Memory): boolean => 'memory' in event && event.memory === memory;

const isZero = (value: Amount | undefined, sizes: ReadonlyMap<string, NamedSize>): boolean =>
  value !== undefined && evaluateAmount(value, (name) => sizes.get(name)?.value) === 0;

/** `M * K` is a matrix, everything else a row. */
function shapeOf(count: Amount): Amount[] {
  const factors = rootFactors(count);
  return factors.every(({ kind }) => kind === 'root') ? factors : [count];
}

const vectorExtent = (vector: number): Amount[] => (vector > 1 ? [constant(vector)] : []);

function rootFactors(amount: Amount): Amount[] {
  if (amount.kind !== 'operation' || amount.operator !== '*') return [amount];
  return amount.operands.flatMap(rootFactors);
}

const ONE = constant(1);

function trimmed(extents: readonly Amount[]): Amount[] {
  const last = extents.findLastIndex((extent) => !isNumber(extent, 1));
  return last < 0 ? [ONE] : extents.slice(0, last + 1);
}

/** Split at commas that are not in parentheses. */
function givenTriple(text: string, option: string): Amount[] {
  const parts = text.split(/,(?![^(]*\))/).map((part) => readAmount(part.trim(), option));
  return [...parts, ONE, ONE].slice(0, 3);
}

/** `d_A`, `dev_a`, `A_d`, `gpu_x`: A, a, A, x. */
function bufferName(variable: string): string {
  const bare = variable.replace(/^(?:d|dev|device|gpu|cu|g)_(?=\w)/i, '').replace(/_(?:d|dev|device|gpu)$/i, '');
  const name = /^d[A-Z]/.test(bare) && bare === variable ? bare.slice(1) : bare;
  return /^[A-Za-z_]/.test(name) ? name : `b_${name}`;
}

const isNameOf = (memory: Memory, name: string): boolean => name === memory.name || name === bufferName(memory.name);

/** Template arguments that have a name in the host code. */
export const templateNames = (launches: readonly CompiledLaunch[]): string[] =>
  launches.flatMap(({ launch }) =>
    launch.templateArguments.flatMap(({ value }) => (value?.kind === 'name' ? [value.name] : [])),
  );
