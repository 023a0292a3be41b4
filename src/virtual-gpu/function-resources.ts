import type { KernelResources } from '../core/counters.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { buildControlFlowGraph } from '../ptx/control-flow.ts';
import { inlineCalls } from '../ptx/inline-calls.ts';
import { estimateRegisters } from '../ptx/registers.ts';
import { layOutSymbols } from './codegen/state/symbols.ts';

/**
 * What one CTA of a function occupies, estimated from its PTX, without dynamic shared memory.
 * @throws UnsupportedPtxError for calls that cannot be inlined.
 */
export function functionResources(module: PtxModule, functionName: string): KernelResources {
  const fn = inlineCalls(module, functionName);
  const { staticSharedBytes, localBytesPerThread } = layOutSymbols(module, fn, new Map());
  return {
    registersPerThread: estimateRegisters(fn, buildControlFlowGraph(fn)),
    registersSource: 'estimated',
    staticSharedBytes,
    dynamicSharedBytes: 0,
    localBytesPerThread,
  };
}
