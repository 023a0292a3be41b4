import type { PtxFunction, PtxInstruction } from '../../ptx/ast.ts';
import { type EarlyRead, earlyReads } from '../../ptx/early-reads.ts';
import { definitionsAndUses } from '../../ptx/instructions/properties.ts';
import type { Liveness } from '../../ptx/liveness.ts';
import type { DecisionSites } from '../decisions/decision-sites.ts';
import { DECISION, TABLE_BYTES, TABLES } from '../layout.ts';
import type { Origins, OriginTracer } from '../pointer-origins.ts';
import type { ModuleBuilder } from '../wasm/module-builder.ts';
import type { JitBlock } from './control/blocks.ts';
import type { Helpers } from './lane/helpers.ts';
import type { AccessGroup } from './memory/access-groups.ts';
import { type RegisterKind, registerKind } from './state/register-kinds.ts';
import type { RegisterSlots } from './state/register-slots.ts';
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

/** Everything the emitters of one kernel share. */
export class KernelContext {
  readonly fn: PtxFunction;
  readonly blocks: readonly JitBlock[];
  readonly liveness: Liveness;
  readonly uniform: ReadonlySet<string>;
  readonly slots: RegisterSlots;
  readonly module: ModuleBuilder;
  readonly helpers: Helpers;
  readonly imports: Imports;
  readonly runtime: Runtime;
  readonly counting: boolean;
  readonly watching: boolean;
  /** In watched code. */
  readonly watch: WatchFunctions | undefined;
  readonly symbols: ReadonlyMap<string, SymbolAddress>;
  readonly origins: OriginTracer;
  /** With which the kernel waits for other CTAs. */
  readonly polls: ReadonlySet<PtxInstruction>;
  readonly spins: ReadonlySet<PtxInstruction>;
  /** Reads of accumulators that the code may not have waited for. */
  readonly earlyReads: ReadonlyMap<PtxInstruction, EarlyRead>;
  readonly groups: AccessGroup[] = [];
  readonly warpSites: WarpSite[] = [];
  readonly decisions: DecisionSites;
  /** Address of the decisions' records. */
  readonly decisionTable: number;
  #tableEnd: number = TABLES;
  /** Registers that instructions read. */
  readonly #used: ReadonlySet<string>;

  constructor(parts: {
    fn: PtxFunction;
    blocks: readonly JitBlock[];
    liveness: Liveness;
    uniform: ReadonlySet<string>;
    slots: RegisterSlots;
    module: ModuleBuilder;
    helpers: Helpers;
    imports: Imports;
    runtime: Runtime;
    counting: boolean;
    watch: WatchFunctions | undefined;
    symbols: ReadonlyMap<string, SymbolAddress>;
    origins: OriginTracer;
    polls: ReadonlySet<PtxInstruction>;
    spins: ReadonlySet<PtxInstruction>;
    tableStart: number;
    decisions: DecisionSites;
  }) {
    this.fn = parts.fn;
    this.blocks = parts.blocks;
    this.#used = new Set(
      parts.blocks.flatMap(({ instructions }) => instructions.flatMap((i) => definitionsAndUses(i).uses)),
    );
    this.liveness = parts.liveness;
    this.uniform = parts.uniform;
    this.slots = parts.slots;
    this.module = parts.module;
    this.helpers = parts.helpers;
    this.imports = parts.imports;
    this.runtime = parts.runtime;
    this.counting = parts.counting;
    this.watching = parts.watch !== undefined;
    this.watch = parts.watch;
    this.symbols = parts.symbols;
    this.origins = parts.origins;
    this.polls = parts.polls;
    this.spins = parts.spins;
    this.#tableEnd = parts.tableStart;
    this.earlyReads = earlyReads(parts.blocks);
    this.decisions = parts.decisions;
    this.decisionTable = this.allocateTable(parts.decisions.sites.length * DECISION.bytes);
  }

  /** Leaves an instruction to JavaScript: its place in the table of such sites. */
  addSite(instruction: PtxInstruction, block: number): WarpSite {
    const origins = new Set(
      instruction.operands.flatMap((operand) => (operand.kind === 'address' ? [...this.origins.of(operand)] : [])),
    );
    const resolved = resolveSymbols(instruction, this.symbols);
    const { definitions } = definitionsAndUses(instruction);
    const isResultUsed = definitions.some((register) => this.#used.has(register));
    const site = { index: this.warpSites.length, instruction: resolved, block, origins, isResultUsed };
    this.warpSites.push(site);
    return site;
  }

  kindOf(register: string): RegisterKind {
    const type = this.fn.registers.get(register);
    if (type === undefined) throw new Error(`undeclared register ${register}`);
    return registerKind(type);
  }

  slotOf(register: string): number {
    const offset = this.slots.offsets.get(register);
    if (offset === undefined) throw new Error(`register ${register} has no slot`);
    return offset;
  }

  /** Address of an instruction's record, if it decides something that its author wrote. */
  decisionRecord(instruction: PtxInstruction): number | undefined {
    const index = this.decisions.indexOf.get(instruction);
    return index === undefined ? undefined : this.decisionTable + index * DECISION.bytes;
  }

  /** Reserves zeroed bytes in the table area, 16-byte aligned. */
  allocateTable(bytes: number): number {
    const address = this.#tableEnd;
    this.#tableEnd += (bytes + 15) & ~15;
    if (this.#tableEnd > TABLES + TABLE_BYTES) throw new Error('kernel too large: its tables exceed 8 MiB');
    return address;
  }
}
