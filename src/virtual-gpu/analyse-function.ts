import type { KernelResources } from '../core/counters.ts';
import { onceFor } from '../core/once-for.ts';
import type { ControlFlowGraph, PtxFunction, PtxInstruction, PtxModule } from '../ptx/ast.ts';
import { canonicalForm } from '../ptx/canonical-form.ts';
import { checkOperands } from '../ptx/check-operands.ts';
import { buildControlFlowGraph } from '../ptx/control-flow.ts';
import { inlineCalls } from '../ptx/inline-calls.ts';
import { analyseLiveness, type Liveness } from '../ptx/liveness.ts';
import { estimateRegisters } from '../ptx/registers.ts';
import { drawsOf, pollsOf } from '../ptx/waits.ts';
import { withCanonicalNans } from './canonical-nans.ts';
import { type JitBlock, splitBlocks } from './codegen/control/blocks.ts';
import { analyseUniformity } from './codegen/control/uniformity.ts';
import { registerKind } from './codegen/state/register-kinds.ts';
import { assignSlots, type RegisterSlots } from './codegen/state/register-slots.ts';
import { layOutSymbols } from './codegen/state/symbols.ts';
import { type DecisionSites, decisionSites } from './decisions/decision-sites.ts';
import { withCombinedSelections } from './decisions/nested-selections.ts';

/** What a function's code says, whatever is made of it. */
export interface Analysis {
  /** As the compiler made it, with its calls inlined. */
  inlined: PtxFunction;
  /** The same in the forms that are executed. */
  fn: PtxFunction;
  blocks: JitBlock[];
  uniform: ReadonlySet<string>;
  liveness: Liveness;
  slots: RegisterSlots;
  registersPerThread: number;
  decisions: DecisionSites;
  /** Instructions with which it waits for other CTAs, and those of them by which CTAs draw their work. */
  polls: ReadonlySet<PtxInstruction>;
  draws: ReadonlySet<PtxInstruction>;
}

/** Computes something once for each function of a module, when it is first asked for. */
function oncePerFunction<T>(
  compute: (module: PtxModule, functionName: string) => T,
): (module: PtxModule, functionName: string) => T {
  const ofModule = onceFor((_module: PtxModule) => new Map<string, T>());
  return (module, functionName) => {
    const known = ofModule(module);
    if (!known.has(functionName)) known.set(functionName, compute(module, functionName));
    return known.get(functionName)!;
  };
}

/**
 * Computed once per function, because a kernel is compiled up to three times: to run, to be counted, to be watched.
 * @throws UnsupportedPtxError, and PtxSyntaxError for operands that do not fit their instruction.
 */
export const analysisOf = oncePerFunction(analyse);

/** Some hundredths of a second for a long function: what is compiled and what is planned share it. */
const registersOf = oncePerFunction((module, functionName) => {
  const fn = inlineCalls(module, functionName);
  return estimateRegisters(fn, buildControlFlowGraph(fn), module.target);
});

function analyse(module: PtxModule, functionName: string): Analysis {
  const inlined = inlineCalls(module, functionName);
  checkOperands(inlined, module);
  const fn = withCombinedSelections(withCanonicalNans(canonicalForm(inlined)));
  const cfg = buildControlFlowGraph(fn);
  const { uniform, divergentBlocks } = analyseUniformity(fn, cfg);
  const polls = pollsOf(fn);
  const draws = drawsOf(fn, polls);
  const blocks = splitBlocks(cfg, divergentBlocks, draws);
  const liveness = analyseLiveness(asGraph(blocks));
  const slots = assignSlots(blocks, liveness, (register) => registerKind(fn.registers.get(register)!));
  const decisions = decisionSites(blocks);
  const registersPerThread = registersOf(module, functionName);
  return { inlined, fn, blocks, uniform, liveness, slots, registersPerThread, decisions, polls, draws };
}

function asGraph(blocks: JitBlock[]): ControlFlowGraph {
  return { blocks, immediatePostDominators: [], loopHeaders: new Set() };
}

/**
 * Resources of one CTA of a function, estimated from its PTX, without dynamic shared memory. Registers are estimated when somebody
 * asks: a module may have many functions, and most are asked for their shared memory alone.
 * @throws UnsupportedPtxError for calls that can't be inlined.
 */
export const functionResources = oncePerFunction(estimateResources);

function estimateResources(module: PtxModule, functionName: string): KernelResources {
  const fn = inlineCalls(module, functionName);
  const { staticSharedBytes, localBytesPerThread } = layOutSymbols(module, fn, new Map());
  return {
    get registersPerThread() {
      return registersOf(module, functionName);
    },
    registersSource: 'estimated',
    staticSharedBytes,
    dynamicSharedBytes: 0,
    localBytesPerThread,
  };
}
