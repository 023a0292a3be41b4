import type { PtxInstruction } from '../../ptx/ast.ts';
import { earlyReads } from '../../ptx/early-reads.ts';
import { definitionsAndUses } from '../../ptx/instructions/properties.ts';
import type { WideLoad } from '../../ptx/merged-loads.ts';
import type { Origins, OriginTracer } from '../../ptx/pointer-origins.ts';
import type { Analysis } from '../analyse-function.ts';
import { DECISION, TABLE_BYTES, TABLES } from '../layout.ts';
import type { TensorKernelForm } from '../runtime/product-emitter.ts';
import type { ModuleBuilder } from '../wasm/module-builder.ts';
import type { Helpers } from './lane/helpers.ts';
import type { AccessGroup } from './memory/access-groups.ts';
import { type RegisterKind, registerKind } from './state/register-kinds.ts';
import { resolveSymbols, type SymbolAddress } from './state/symbols.ts';

/** A warp-level operation that JavaScript carries out: shuffles with computed lanes, votes, atomics, rare opcodes. */
export interface WarpSite {
  index: number;
  instruction: PtxInstruction;
  block: number;
  /** What the addresses it accesses come from. */
  origins: Origins;
  /** Whether anything reads what it leaves in registers: clang gives each atomic a register. */
  isResultUsed: boolean;
  /** In watched code, of a cp.async: index of the group of its writes to shared memory. */
  landing: number | undefined;
}

/** Function indices of the imports. */
export interface Imports {
  boundsMiss: number;
  patternMiss: number;
  warpOperation: number;
  samplesFull: number;
  watchGroup: number;
  watchUniform: number;
  newCellPage: number;
  tellCellsApart: number;
  /** Products of tensor cores, by form. */
  products: ReadonlyMap<TensorKernelForm, number>;
}

/** Functions of watched code. */
export interface WatchFunctions {
  /** They note accesses to shared and to device memory: (group, place, warp, how). */
  shared: number;
  global: number;
  /** (warp) */
  lanesMeet: number;
}

/** Functions written once per module that blocks call. */
export interface Runtime {
  split: number;
  splitMasked: number;
  setProgramCounters: number;
  countParting: number;
  countPattern: number;
  recordAccess: number;
}

/** What the emitters of a kernel are given. */
interface KernelParts
  extends Pick<Analysis, 'fn' | 'blocks' | 'liveness' | 'uniform' | 'slots' | 'decisions' | 'polls' | 'draws'> {
  readonly module: ModuleBuilder;
  readonly helpers: Helpers;
  readonly imports: Imports;
  readonly runtime: Runtime;
  /** PTX target. */
  readonly target: string;
  readonly counting: boolean;
  /** In counted code. */
  readonly mergedLoads: ReadonlyMap<PtxInstruction, WideLoad>;
  /** In watched code. */
  readonly watch: WatchFunctions | undefined;
  readonly symbols: ReadonlyMap<string, SymbolAddress>;
  /** Its addresses of shared memory hold the rank of the CTA. */
  readonly namesCtas: boolean;
  readonly origins: OriginTracer;
  /** With which warps wait for others of their CTA. */
  readonly spins: ReadonlySet<PtxInstruction>;
}

/** Everything the emitters of one kernel share. */
export type KernelContext = ReturnType<typeof createKernelContext>;

/** @param tableStart where tables may begin. */
export function createKernelContext(parts: KernelParts, tableStart: number) {
  const { fn, blocks, slots, symbols, namesCtas, origins, decisions } = parts;
  let tableEnd = tableStart;
  /** Registers that instructions read. */
  const used = new Set(blocks.flatMap(({ instructions }) => instructions.flatMap((i) => definitionsAndUses(i).uses)));
  const warpSites: WarpSite[] = [];
  const groups: AccessGroup[] = [];

  /** Reserves zeroed bytes in the table area, 16-byte aligned. */
  const allocateTable = (bytes: number): number => {
    const address = tableEnd;
    tableEnd += (bytes + 15) & ~15;
    if (tableEnd > TABLES + TABLE_BYTES) throw new Error('kernel too large: its tables exceed 8 MiB');
    return address;
  };
  /** Address of the decisions' records. */
  const decisionTable = allocateTable(decisions.sites.length * DECISION.bytes);

  return {
    ...parts,
    watching: parts.watch !== undefined,
    /** Reads of accumulators that the code may not have waited for. */
    earlyReads: earlyReads(blocks),
    groups,
    warpSites,
    decisionTable,
    allocateTable,

    /** Leaves an instruction to JavaScript: its place in the table of such sites. */
    addSite(instruction: PtxInstruction, block: number, landing?: number): WarpSite {
      const own = new Set(
        instruction.operands.flatMap((operand) => (operand.kind === 'address' ? [...origins.of(operand)] : [])),
      );
      const resolved = resolveSymbols(instruction, symbols, namesCtas);
      const { definitions } = definitionsAndUses(instruction);
      const isResultUsed = definitions.some((register) => used.has(register));
      const site = { index: warpSites.length, instruction: resolved, block, origins: own, isResultUsed, landing };
      warpSites.push(site);
      return site;
    },

    kindOf(register: string): RegisterKind {
      const type = fn.registers.get(register);
      if (type === undefined) throw new Error(`undeclared register ${register}`);
      return registerKind(type);
    },

    slotOf(register: string): number {
      const offset = slots.offsets.get(register);
      if (offset === undefined) throw new Error(`register ${register} has no slot`);
      return offset;
    },

    /** Address of an instruction's record, if it decides something that its author wrote. */
    decisionRecord(instruction: PtxInstruction): number | undefined {
      const index = decisions.indexOf.get(instruction);
      return index === undefined ? undefined : decisionTable + index * DECISION.bytes;
    },
  };
}
