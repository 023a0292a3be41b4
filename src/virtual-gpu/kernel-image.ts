import type { SourceLocation } from '../core/compiled-code.ts';
import type { PtxInstruction, PtxParameter } from '../ptx/ast.ts';
import type { IssueTime } from '../ptx/scheduling/issue.ts';
import type { CountTables } from './codegen/control/runtime-functions.ts';
import type { WarpSite } from './codegen/kernel-context.ts';
import type { AccessGroup } from './codegen/memory/access-groups.ts';
import type { RegisterKind } from './codegen/state/register-kinds.ts';
import type { SymbolTable } from './codegen/state/symbols.ts';
import type { DecisionSites } from './decisions/decision-sites.ts';
import type { TensorKernelForm } from './runtime/product-emitter.ts';
import type { SpinLoop } from './spin-loops.ts';

/** A kernel compiled to WebAssembly, with all data for running it. */
export interface KernelImage extends RunnableImage {
  wasm: Uint8Array<ArrayBuffer>;
  /** Instructions of each block, for attributing counts to lines. */
  blockInstructions: PtxInstruction[][];
  decisions: DecisionSites;
  /** Of a kernel that is counted: how long warps take for each piece of its code. */
  issueTimes: readonly BlockIssueTime[];
}

/** How long one run of a piece of code keeps a warp. */
export interface BlockIssueTime extends IssueTime {
  /** It runs as often as this block. */
  readonly block: number;
}

/** Where a block lies in the source, for messages. */
export interface BlockPlace {
  readonly source: SourceLocation | undefined;
  /** Opcode of the instruction at which lanes of a warp meet there; undefined if the block begins otherwise. */
  readonly meets: string | undefined;
}

/** What runs compiled code needs this about it. Plain data that travels to worker threads. */
export interface RunnableImage extends Omit<SymbolTable, 'addresses'> {
  functionName: string;
  /** PTX target, e.g. `sm_89`. */
  target: string;
  counting: boolean;
  /** Reports its accesses to memory to a race detector. */
  watching: boolean;
  /** Its smallest access to shared memory. */
  sharedUnitBytes: number;
  /** Its addresses of shared memory hold the rank of the CTA. */
  namesCtas: boolean;
  parameters: PtxParameter[];
  blockCount: number;
  /** Warp instructions of each block, terminator included. */
  weights: number[];
  weightTable: number;
  tables: CountTables | undefined;
  groups: AccessGroup[];
  /** How many decisions are recorded, and the address of their records ({@link DECISION}). */
  decisionCount: number;
  decisionTable: number;
  warpSites: WarpSite[];
  /** Of products that it imports. */
  tensorForms: readonly TensorKernelForm[];
  /** The barrier instruction that precedes a block. */
  barriers: Map<number, PtxInstruction>;
  /** By block. */
  places: readonly BlockPlace[];
  spinLoops: readonly SpinLoop[];
  /** Whether CTAs draw their work from a queue, as far as the code tells. */
  drawsWork: boolean;
  /** `bits`: declared width; values of 16-bit registers are held zero-extended. */
  registers: Map<string, { offset: number; kind: RegisterKind; bits: number; uniform: boolean }>;
  warpBytes: number;
  maxThreads: readonly [number, number, number] | undefined;
  requiredCluster: readonly [number, number, number] | undefined;
  requiredThreads: readonly [number, number, number] | undefined;
  registersPerThread: number;
  /** Registers per thread at the launch, where launch bounds say: what `setmaxnreg` starts from. */
  registersAtStart: number | undefined;
}
