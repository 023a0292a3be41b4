import type { KernelResources } from '../core/counters.ts';
import type { ControlFlowGraph, PtxFunction, PtxModule } from '../ptx/ast.ts';
import { canonicalForm } from '../ptx/canonical-form.ts';
import { checkOperands } from '../ptx/check-operands.ts';
import { buildControlFlowGraph } from '../ptx/control-flow.ts';
import { inlineCalls } from '../ptx/inline-calls.ts';
import { analyseLiveness, type Liveness } from '../ptx/liveness.ts';
import { estimateRegisters } from '../ptx/registers.ts';
import { type JitBlock, splitBlocks } from './codegen/control/blocks.ts';
import { analyseUniformity } from './codegen/control/uniformity.ts';
import { registerKind } from './codegen/state/register-kinds.ts';
import { assignSlots, type RegisterSlots } from './codegen/state/register-slots.ts';
import { layOutSymbols } from './codegen/state/symbols.ts';
import { type DecisionSites, decisionSites } from './decisions/decision-sites.ts';

/** What a function's code says, whatever is made of it. */
export interface Analysis {
  fn: PtxFunction;
  blocks: JitBlock[];
  uniform: ReadonlySet<string>;
  liveness: Liveness;
  slots: RegisterSlots;
  registersPerThread: number;
  decisions: DecisionSites;
}

const analyses = new WeakMap<PtxModule, Map<string, Analysis>>();

/**
 * Computed once per function, because a kernel is compiled up to three times: to run, to be counted, to be watched.
 * @throws UnsupportedPtxError, and PtxSyntaxError for operands that do not fit their instruction.
 */
export function analysisOf(module: PtxModule, functionName: string): Analysis {
  const known = analyses.get(module)?.get(functionName);
  if (known) return known;
  const analysis = analyse(module, functionName);
  analyses.set(module, (analyses.get(module) ?? new Map<string, Analysis>()).set(functionName, analysis));
  return analysis;
}

function analyse(module: PtxModule, functionName: string): Analysis {
  const inlined = inlineCalls(module, functionName);
  checkOperands(inlined, module);
  const registersPerThread = estimateRegisters(inlined, buildControlFlowGraph(inlined), module.target);
  const fn = canonicalForm(inlined);
  const cfg = buildControlFlowGraph(fn);
  const { uniform, divergentBlocks } = analyseUniformity(fn, cfg);
  const blocks = splitBlocks(cfg, divergentBlocks);
  const liveness = analyseLiveness(asGraph(blocks));
  const slots = assignSlots(blocks, liveness, (register) => registerKind(fn.registers.get(register)!));
  const decisions = decisionSites(blocks.flatMap(({ instructions }) => instructions));
  return { fn, blocks, uniform, liveness, slots, registersPerThread, decisions };
}

function asGraph(blocks: JitBlock[]): ControlFlowGraph {
  return { blocks, immediatePostDominators: [], loopHeaders: new Set() };
}

/**
 * Resources of one CTA of a function, estimated from its PTX, without dynamic shared memory.
 * @throws UnsupportedPtxError for calls that can't be inlined.
 */
export function functionResources(module: PtxModule, functionName: string): KernelResources {
  const fn = inlineCalls(module, functionName);
  const { staticSharedBytes, localBytesPerThread } = layOutSymbols(module, fn, new Map());
  return {
    registersPerThread: estimateRegisters(fn, buildControlFlowGraph(fn), module.target),
    registersSource: 'estimated',
    staticSharedBytes,
    dynamicSharedBytes: 0,
    localBytesPerThread,
  };
}
