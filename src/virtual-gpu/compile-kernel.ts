import type { ControlFlowGraph, PtxFunction, PtxModule } from '../ptx/ast.ts';
import { canonicalForm } from '../ptx/canonical-form.ts';
import { checkOperands } from '../ptx/check-operands.ts';
import { buildControlFlowGraph } from '../ptx/control-flow.ts';
import { inlineCalls } from '../ptx/inline-calls.ts';
import { analyseLiveness, type Liveness } from '../ptx/liveness.ts';
import { estimateRegisters } from '../ptx/registers.ts';
import { bitsOfPtxType } from '../ptx/types.ts';

import { BlockEmitter } from './codegen/block-emitter.ts';
import { type JitBlock, readsClock, splitBlocks } from './codegen/control/blocks.ts';
import { type CountTables, defineRun, defineRuntime } from './codegen/control/runtime-functions.ts';
import { analyseUniformity } from './codegen/control/uniformity.ts';
import { KernelContext } from './codegen/kernel-context.ts';
import { Helpers } from './codegen/lane/helpers.ts';
import { registerKind } from './codegen/state/register-kinds.ts';
import { assignSlots } from './codegen/state/register-slots.ts';
import { layOutSymbols } from './codegen/state/symbols.ts';
import type { KernelImage } from './kernel-image.ts';
import { DEVICE_START, TABLES, WRITE_PAGE_BYTES } from './layout.ts';
import { OriginTracer } from './pointer-origins.ts';
import { warpOperation } from './runtime/warp-operations.ts';
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

/** Device memory is shared between threads and may take all of a 32-bit address space. */
const DEVICE_MEMORY_MAXIMUM_PAGES = 65536;

/**
 * Compiles one kernel to WebAssembly.
 * @throws UnsupportedPtxError for an instruction the virtual GPU does not know, with name and line; PtxSyntaxError for
 * operands that do not fit their instruction.
 */
export function compileKernel(options: CompileKernelOptions): KernelImage {
  const { fn, blocks, uniform, liveness, slots, registersPerThread } = analysisOf(options.module, options.functionName);
  const symbols = layOutSymbols(options.module, fn, options.globals);

  const module = new ModuleBuilder();
  module.importMemory({ name: 'private', minimumPages: 1 });
  module.importMemory({ name: 'device', minimumPages: 1, sharedMaximumPages: DEVICE_MEMORY_MAXIMUM_PAGES });
  module.importMemory({ name: 'writes', minimumPages: DEVICE_START / WRITE_PAGE_BYTES });
  if (options.counting)
    module.importMemory({ name: 'reads', minimumPages: 1, sharedMaximumPages: DEVICE_MEMORY_MAXIMUM_PAGES });
  const call3 = { parameters: ['i32' as const, 'i32' as const, 'i32' as const], results: [] };
  const imports = {
    boundsMiss: module.importFunction('boundsMiss', call3),
    patternMiss: module.importFunction('patternMiss', call3),
    warpOperation: module.importFunction('warpOperation', call3),
    samplesFull: module.importFunction('samplesFull', { parameters: [], results: [] }),
    watchGroup: module.importFunction('watchGroup', call3),
    watchUniform: module.importFunction('watchUniform', {
      ...call3,
      parameters: [...call3.parameters, 'i32' as const],
    }),
  };
  const { weightTable, tables, end } = layOutTables(blocks.length, options.counting);
  const kernel = new KernelContext({
    fn,
    blocks,
    liveness,
    uniform,
    slots,
    module,
    helpers: new Helpers(module, options.fusedMultiplyAdd),
    imports,
    runtime: defineRuntime(module, imports, tables),
    counting: options.counting,
    watching: options.watching ?? false,
    symbols: symbols.addresses,
    origins: new OriginTracer(fn, new Set(options.globals.keys())),
    tableStart: end,
  });
  emitBlocks(kernel, weightTable, tables);
  // What compiled code leaves to JavaScript must be known there: unsupported is found here, not in a worker.
  for (const site of kernel.warpSites) warpOperation(site.instruction);
  return {
    functionName: options.functionName,
    target: options.module.target,
    wasm: module.encode(),
    counting: options.counting,
    watching: options.watching ?? false,
    parameters: fn.parameters,
    blockCount: blocks.length,
    weights: blocks.map((block) => block.instructions.filter((i) => i.countedAs !== null).length),
    weightTable,
    tables,
    groups: kernel.groups,
    warpSites: kernel.warpSites,
    barriers: barriersOf(blocks),
    registers: new Map(
      [...slots.offsets].map(([name, offset]) => [
        name,
        {
          offset,
          kind: kernel.kindOf(name),
          bits: bitsOfPtxType(fn.registers.get(name)!),
          uniform: uniform.has(name),
        },
      ]),
    ),
    warpBytes: slots.warpBytes,
    staticSharedBytes: symbols.staticSharedBytes,
    dynamicSharedStart: symbols.dynamicSharedStart,
    localBytesPerThread: symbols.localBytesPerThread,
    constants: symbols.constants,
    maxThreads: fn.maxThreads,
    requiredThreads: fn.requiredThreads,
    registersPerThread,
    blockInstructions: blocks.map((block) => block.instructions),
  };
}

/** What a function's code says, whatever is made of it. */
interface Analysis {
  fn: PtxFunction;
  blocks: JitBlock[];
  uniform: ReadonlySet<string>;
  liveness: Liveness;
  slots: ReturnType<typeof assignSlots>;
  registersPerThread: number;
}

const analyses = new WeakMap<PtxModule, Map<string, Analysis>>();

/** A kernel is compiled up to three times: to run, to be counted, to be watched. */
function analysisOf(module: PtxModule, functionName: string): Analysis {
  const known = analyses.get(module)?.get(functionName);
  if (known) return known;
  const analysis = analyse(module, functionName);
  analyses.set(module, (analyses.get(module) ?? new Map<string, Analysis>()).set(functionName, analysis));
  return analysis;
}

function analyse(module: PtxModule, functionName: string): Analysis {
  const inlined = inlineCalls(module, functionName);
  checkOperands(inlined, module);
  const fn = canonicalForm(inlined);
  const cfg = buildControlFlowGraph(fn);
  const { uniform, divergentBlocks } = analyseUniformity(fn, cfg);
  const blocks = splitBlocks(cfg, divergentBlocks);
  const liveness = analyseLiveness(asGraph(blocks));
  const slots = assignSlots(blocks, liveness, (register) => registerKind(fn.registers.get(register)!));
  return { fn, blocks, uniform, liveness, slots, registersPerThread: estimateRegisters(fn, cfg) };
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
  const run = defineRun(module, { blockCount: blocks.length, weights, tables, keepsClock });
  module.setTable([...converged, ...masked]);
  module.exportFunction('run', run);
}

function asGraph(blocks: JitBlock[]): ControlFlowGraph {
  return { blocks, immediatePostDominators: [], loopHeaders: new Set() };
}

function barriersOf(blocks: readonly JitBlock[]): KernelImage['barriers'] {
  const result: KernelImage['barriers'] = new Map();
  for (const { terminator } of blocks)
    if (terminator.kind === 'barrier') result.set(terminator.next, terminator.instruction);
  return result;
}
