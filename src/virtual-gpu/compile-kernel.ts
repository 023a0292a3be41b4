import type { PtxInstruction, PtxModule } from '../ptx/ast.ts';
import { buildControlFlowGraph } from '../ptx/control-flow.ts';
import { isOfCluster } from '../ptx/instruction-parts.ts';
import { showsRanks, synchronisationOf } from '../ptx/instructions/properties.ts';
import { issueTimes } from '../ptx/issue-times.ts';
import { mergedLoads } from '../ptx/merged-loads.ts';
import { OriginTracer } from '../ptx/pointer-origins.ts';
import { registersAtStart } from '../ptx/registers.ts';
import { bitsOfPtxType } from '../ptx/types.ts';
import { spinsOf } from '../ptx/waits.ts';
import { type Analysis, analysisOf } from './analyse-function.ts';
import { BlockEmitter } from './codegen/block-emitter.ts';
import { type JitBlock, readsClock } from './codegen/control/blocks.ts';
import { defineRun } from './codegen/control/run-function.ts';
import { type CountTables, defineRuntime } from './codegen/control/runtime-functions.ts';
import { createKernelContext, type Imports, type KernelContext } from './codegen/kernel-context.ts';
import { Helpers } from './codegen/lane/helpers.ts';
import { registerKind } from './codegen/state/register-kinds.ts';
import { layOutSymbols } from './codegen/state/symbols.ts';
import { defineDeviceWatch } from './codegen/watch/device-watch.ts';
import { defineLanesMeet } from './codegen/watch/lanes-meet.ts';
import { defineSharedWatch } from './codegen/watch/shared-watch.ts';
import type { BlockIssueTime, BlockPlace, KernelImage } from './kernel-image.ts';
import { DEVICE_MEMORY_MAXIMUM_PAGES, DEVICE_START, POOL, TABLES, WRITE_PAGE_BYTES } from './layout.ts';
import { smallestAccess, watchedAccess } from './race-detector/watched-access.ts';
import type { TensorKernelForm } from './runtime/product-emitter.ts';
import { tensorFormOf } from './runtime/tensor-form.ts';
import { productName, registersOfProduct } from './runtime/tensor-kernel.ts';
import { warpOperation } from './runtime/warp-operations.ts';
import { spinLoopsOf } from './spin-loops.ts';
import { ConstantPool } from './wasm/constant-pool.ts';
import { i32s } from './wasm/function-builder.ts';
import { ModuleBuilder } from './wasm/module-builder.ts';

export interface CompileKernelOptions {
  module: PtxModule;
  /** Symbol of the entry function. */
  functionName: string;
  /** Offsets in device memory of the module's .global variables. */
  globals: ReadonlyMap<string, number>;
  counting: boolean;
  /** Have all accesses to memory reported, to find races. Slow. */
  watching?: boolean;
  /** Whether relaxed_madd is a true fused multiply-add on this host (probed). */
  fusedMultiplyAdd: boolean;
}

/**
 * Compiles one kernel to WebAssembly.
 * @throws UnsupportedPtxError for an instruction the virtual GPU does not know, with name and line; PtxSyntaxError for
 * operands that do not fit their instruction.
 */
export function compileKernel(options: CompileKernelOptions): KernelImage {
  const analysis = analysisOf(options.module, options.functionName);
  const { fn, blocks, slots, decisions } = analysis;
  const symbols = layOutSymbols(options.module, fn, options.globals);
  const isNaming = namesCtas(blocks.flatMap(({ instructions }) => instructions));

  const module = new ModuleBuilder();
  const watching = options.watching ?? false;
  importMemories(module, options.counting, watching);
  module.setPool(new ConstantPool(POOL.start, POOL.bytes));
  const tensorForms = tensorFormsOf(blocks, options.module.target);
  const imports = importFunctions(module, tensorForms);
  const { weightTable, tables, end } = layOutTables(blocks.length, options.counting);
  const sharedUnitBytes = smallestAccess(
    'shared',
    blocks.flatMap(({ instructions }) => instructions.map(watchedAccess)),
  );
  const kernel = createKernelContext(
    {
      ...analysis,
      module,
      helpers: new Helpers(module, options.fusedMultiplyAdd),
      imports,
      runtime: defineRuntime(module, imports, tables),
      watch: watching
        ? {
            shared: defineSharedWatch(module, imports, sharedUnitBytes),
            global: defineDeviceWatch(module, imports),
            lanesMeet: defineLanesMeet(module),
          }
        : undefined,
      target: options.module.target,
      counting: options.counting,
      mergedLoads: options.counting ? mergedLoads(buildControlFlowGraph(fn).blocks) : new Map(),
      symbols: symbols.addresses,
      namesCtas: isNaming,
      spins: spinsOf(fn),
      origins: new OriginTracer(fn, new Set(options.globals.keys())),
    },
    end,
  );
  emitBlocks(kernel, weightTable, tables);
  // Checks here that JavaScript implements the rest, so that an unsupported instruction is not found only in a worker.
  for (const site of kernel.warpSites) warpOperation(site.instruction);
  return {
    functionName: options.functionName,
    target: options.module.target,
    wasm: module.encode(),
    counting: options.counting,
    watching,
    sharedUnitBytes,
    namesCtas: isNaming,
    parameters: fn.parameters,
    blockCount: blocks.length,
    weights: blocks.map((block) => block.instructions.filter((i) => i.countedAs !== null).length),
    weightTable,
    tables,
    decisions,
    decisionCount: decisions.sites.length,
    decisionTable: kernel.decisionTable,
    groups: kernel.groups,
    warpSites: kernel.warpSites,
    tensorForms,
    barriers: barriersOf(blocks),
    places: blocks.map(placeOf),
    spinLoops: spinLoopsOf(blocks, symbols.addresses, isNaming),
    drawsWork: analysis.draws.size > 0,
    registers: describeRegisters(analysis),
    warpBytes: slots.warpBytes,
    staticSharedBytes: symbols.staticSharedBytes,
    dynamicSharedStart: symbols.dynamicSharedStart,
    localBytesPerThread: symbols.localBytesPerThread,
    constants: symbols.constants,
    maxThreads: fn.maxThreads,
    requiredCluster: fn.requiredCluster,
    requiredThreads: fn.requiredThreads,
    registersPerThread: analysis.registersPerThread,
    registersAtStart: registersAtStart(fn),
    blockInstructions: blocks.map((block) => block.instructions),
    issueTimes: options.counting ? issueTimesByBlock(analysis) : [],
  };
}

/** Pieces of the code as the compiler made it, by the block that begins them. */
function issueTimesByBlock({ inlined, blocks }: Analysis): BlockIssueTime[] {
  const blockOf = new Map(
    blocks.flatMap(({ index, instructions }) => instructions.map((one) => [one.countedAs ?? one, index] as const)),
  );
  return issueTimes(inlined, buildControlFlowGraph(inlined)).flatMap(({ instructions, time }) => {
    const first = instructions.find((one) => blockOf.has(one));
    return first ? [{ block: blockOf.get(first)!, ...time }] : [];
  });
}

function importMemories(module: ModuleBuilder, counting: boolean, watching: boolean): void {
  if (counting && watching) throw new Error('a kernel is counted or watched, not both');
  module.importMemory({ name: 'private', minimumPages: 1 });
  module.importMemory({ name: 'device', minimumPages: 1, sharedMaximumPages: DEVICE_MEMORY_MAXIMUM_PAGES });
  module.importMemory({ name: 'writes', minimumPages: DEVICE_START / WRITE_PAGE_BYTES });
  if (counting)
    module.importMemory({ name: 'reads', minimumPages: 1, sharedMaximumPages: DEVICE_MEMORY_MAXIMUM_PAGES });
  if (!watching) return;
  module.importMemory({ name: 'shadow', minimumPages: 1 });
  module.importMemory({ name: 'cells', minimumPages: 1 });
}

/** Of the products that the code may call by itself. */
const tensorFormsOf = (blocks: readonly JitBlock[], target: string): readonly TensorKernelForm[] => [
  ...new Set(
    blocks.flatMap(({ instructions }) =>
      instructions.flatMap((instruction) => tensorFormOf(instruction, target) ?? []),
    ),
  ),
];

function importFunctions(module: ModuleBuilder, tensorForms: readonly TensorKernelForm[]): Imports {
  const taking = (count: number) => ({ parameters: i32s(count), results: [] });
  return {
    boundsMiss: module.importFunction('boundsMiss', taking(3)),
    patternMiss: module.importFunction('patternMiss', taking(3)),
    warpOperation: module.importFunction('warpOperation', taking(3)),
    samplesFull: module.importFunction('samplesFull', taking(0)),
    watchGroup: module.importFunction('watchGroup', taking(4)),
    watchUniform: module.importFunction('watchUniform', taking(5)),
    newCellPage: module.importFunction('newCellPage', { ...taking(1), results: ['i32'] }),
    tellCellsApart: module.importFunction('tellCellsApart', taking(1)),
    products: new Map(
      tensorForms.map((form, i) => [
        form,
        module.importFunction(productName(i), { ...taking(registersOfProduct(form)), results: ['i32'] }),
      ]),
    ),
  };
}

function describeRegisters({ fn, slots, uniform }: Analysis): KernelImage['registers'] {
  return new Map(
    [...slots.offsets].map(([name, offset]) => {
      const type = fn.registers.get(name)!;
      return [name, { offset, kind: registerKind(type), bits: bitsOfPtxType(type), uniform: uniform.has(name) }];
    }),
  );
}

function layOutTables(
  blockCount: number,
  counting: boolean,
): { weightTable: number; tables: CountTables | undefined; end: number } {
  const weightTable = TABLES;
  let end = weightTable + ((blockCount * 4 + 15) & ~15);
  if (!counting) return { weightTable, tables: undefined, end };
  const reserve = (cells: number): number => {
    const address = end;
    end += (cells * 8 + 15) & ~15;
    return address;
  };
  const tables = {
    converged: reserve(blockCount),
    partial: reserve(blockCount * 33),
    divergences: reserve(blockCount),
  };
  return { weightTable, tables, end };
}

/** Emits each block twice, for converged and for diverged warps, and the function that runs them. */
function emitBlocks(kernel: KernelContext, weights: number, tables: CountTables | undefined): void {
  const { blocks, module } = kernel;
  const signature = { parameters: ['i32' as const], results: ['i32' as const] };
  const converged = blocks.map(() => module.defineFunction(signature));
  const masked = blocks.map(() => module.defineFunction(signature));
  blocks.forEach((block, index) => {
    // Sites and groups of the two variants are separate: each has its own place in the tables.
    new BlockEmitter(converged[index]!, kernel, block, false).emit();
    new BlockEmitter(masked[index]!, kernel, block, true).emit();
  });
  const keepsClock = blocks.some((block) => block.instructions.some(readsClock));
  const mayYield = blocks.some(({ instructions }) =>
    instructions.some((i) => synchronisationOf(i) === 'object' || kernel.polls.has(i) || kernel.spins.has(i)),
  );
  const run = defineRun(module, { blockCount: blocks.length, weights, tables, keepsClock, mayYield });
  module.setTable([...converged, ...masked]);
  module.exportFunction('run', run);
}

function barriersOf(blocks: readonly JitBlock[]): KernelImage['barriers'] {
  const result: KernelImage['barriers'] = new Map();
  for (const { terminator } of blocks)
    if (terminator.kind === 'barrier') result.set(terminator.next, terminator.instruction);
  return result;
}

function placeOf({ instructions }: JitBlock): BlockPlace {
  const [first] = instructions;
  return {
    source: instructions.find(({ source }) => source)?.source,
    meets: first && synchronisationOf(first) === 'warp' ? first.opcode : undefined,
  };
}

/**
 * Whether code can tell that addresses of its shared memory hold the CTA's rank: it reaches other CTAs by them, or puts them into
 * descriptors of matrices. nvcc's machine code adds the rank to every such address; here other code is spared the work.
 */
const namesCtas = (instructions: readonly PtxInstruction[]): boolean =>
  instructions.some((instruction) => showsRanks(instruction) || isOfCluster(instruction));
