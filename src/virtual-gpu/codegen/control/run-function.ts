import { SERIAL_LANES } from '../../../hardware/launch-model/constants.ts';
import { CONTROL, LAUNCH, PC, RUN_STATUS, WARP } from '../../layout.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import { type CountTables, chunkOffsets, increment, reduce } from './runtime-functions.ts';

export interface RunOptions {
  blockCount: number;
  /** Address of the blocks' weights: the warp instructions of each, i32. */
  weights: number;
  tables: CountTables | undefined;
  keepsClock: boolean;
  /** Whether JavaScript may ask the warp to give way. */
  mayYield: boolean;
}

/**
 * (warp) → RUN_STATUS. Runs the warp from its saved state until it exits, reaches a barrier, has used its budget, or has
 * only waiting lanes left. While the warp is converged, a block returns the next block. While it is diverged, the lanes
 * with the lowest program counter run; none enters a convergent block before all others have arrived.
 */
export function defineRun(module: ModuleBuilder, options: RunOptions): FunctionBuilder {
  return new RunFunction(module, options).emit();
}

/** Parameter 0: address of the warp's state. */
const THE_WARP = 0;

class RunFunction {
  #b: FunctionBuilder;
  #options: RunOptions;
  #blockType: number;
  #current: Local;
  #converged: Local;
  #budget: Local;
  #next: Local;
  /** Active lanes. */
  #bits: Local;
  #lowest: Local;
  #mask: Local;
  #others: Local;

  constructor(module: ModuleBuilder, options: RunOptions) {
    const b = module.defineFunction({ parameters: ['i32'], results: ['i32'] });
    this.#b = b;
    this.#options = options;
    this.#blockType = module.typeIndex({ parameters: ['i32'], results: ['i32'] });
    this.#current = b.local('i32');
    this.#converged = b.local('i32');
    this.#budget = b.local('i32');
    this.#next = b.local('i32');
    this.#bits = b.local('i32');
    this.#lowest = b.local('v128');
    this.#mask = b.local('v128');
    this.#others = b.local('v128');
  }

  emit(): FunctionBuilder {
    const b = this.#b;
    b.get(THE_WARP).load(WARP.nextBlock).set(this.#current);
    b.get(THE_WARP).load(WARP.converged).set(this.#converged);
    b.get(THE_WARP).load(WARP.remainingBudget).set(this.#budget);
    b.get(this.#converged).op('i32.eqz');
    b.if(() => this.#selectLanes());
    b.loop(() => {
      this.#spendBudget();
      b.get(this.#converged);
      b.if(
        () => this.#runConverged(),
        () => this.#runDiverged(),
      );
      this.#selectLanes();
      b.br(0);
    });
    b.op('unreachable');
    return b;
  }

  #finish(status: number): void {
    const b = this.#b;
    b.get(THE_WARP, this.#budget).store(WARP.remainingBudget);
    b.get(THE_WARP, this.#converged).store(WARP.converged);
    b.i32(status).op('return');
  }

  /** Pays for the current block. */
  #spendBudget(): void {
    const b = this.#b;
    const { weights, tables, keepsClock } = this.#options;
    b.get(this.#budget).i32(0).op('i32.le_s');
    b.if(() => {
      b.get(THE_WARP, this.#current).store(WARP.nextBlock);
      this.#finish(RUN_STATUS.budgetSpent);
    });
    if (this.#options.mayYield) this.#yieldIfAsked();
    const pushWeight = () => b.get(this.#current).i32(2).op('i32.shl').load(weights);
    if (tables) b.i32(0).get(this.#budget).store(LAUNCH.budget);
    b.get(this.#budget);
    pushWeight().op('i32.sub').set(this.#budget);
    if (!keepsClock) return;
    b.get(THE_WARP, THE_WARP).memory('i64.load', WARP.clock);
    pushWeight().op('i64.extend_i32_u', 'i64.add').memory('i64.store', WARP.clock);
  }

  #yieldIfAsked(): void {
    const b = this.#b;
    b.get(THE_WARP).load(WARP.yields);
    b.if(() => {
      b.get(THE_WARP).i32(0).store(WARP.yields);
      b.get(THE_WARP, this.#current).store(WARP.nextBlock);
      this.#finish(RUN_STATUS.budgetSpent);
    });
  }

  /** Inside the loop's `if`: a block from which all lanes continue together continues the loop. */
  #runConverged(): void {
    const b = this.#b;
    const { tables } = this.#options;
    if (tables) increment(b, () => b.get(this.#current).i32(3).op('i32.shl'), tables.converged);
    b.get(THE_WARP, this.#current).callIndirect(this.#blockType).tee(this.#next).i32(0).op('i32.ge_s');
    b.if(() => b.get(this.#next).set(this.#current).br(2));
    b.get(this.#next).i32(CONTROL.exited).op('i32.eq');
    b.if(() => this.#finish(RUN_STATUS.exited));
    b.get(this.#next).i32(CONTROL.barrier).op('i32.eq');
    b.if(() => this.#finish(RUN_STATUS.barrier));
  }

  #runDiverged(): void {
    const b = this.#b;
    const { tables, blockCount } = this.#options;
    if (tables) {
      b.get(THE_WARP).load(WARP.activeBits).set(this.#bits);
      increment(b, () => this.#pushPartialCell(), tables.partial);
      this.#countNarrow();
    }
    b.get(THE_WARP, this.#current).add(blockCount).callIndirect(this.#blockType).op('drop');
  }

  /** Adds the current block's instructions to those that few lanes execute, if they do. */
  #countNarrow(): void {
    const b = this.#b;
    b.get(this.#bits).op('i32.popcnt').i32(SERIAL_LANES).op('i32.le_u');
    b.if(() => {
      b.i32(0).loadAt(LAUNCH.narrow);
      b.get(this.#current).i32(2).op('i32.shl').load(this.#options.weights).op('i32.add').store(LAUNCH.narrow);
    });
  }

  /** Offset of the current block's count for this number of active lanes. */
  #pushPartialCell(): void {
    this.#b.get(this.#current).i32(33).op('i32.mul').get(this.#bits).op('i32.popcnt', 'i32.add').i32(3).op('i32.shl');
  }

  /** Chooses the lanes that run next, and their block. Finishes if there are none. */
  #selectLanes(): void {
    const b = this.#b;
    this.#findLowestCounter();
    b.get(this.#next).i32(PC.waiting).op('i32.ge_s');
    b.if(() => {
      b.get(this.#next).i32(PC.exited).op('i32.eq');
      b.if(() => this.#finish(RUN_STATUS.exited));
      this.#finish(RUN_STATUS.lanesWaiting);
    });
    b.get(this.#next).i32(PC.convergent).op('i32.ge_s');
    b.if(() => this.#finishUnlessAllMet());
    this.#setMask();
    b.get(this.#next).i32(PC.blockMask).op('i32.and').set(this.#current);
  }

  #findLowestCounter(): void {
    const b = this.#b;
    b.get(THE_WARP).memory('v128.load', WARP.programCounters).set(this.#lowest);
    for (const offset of chunkOffsets.slice(1))
      b.get(this.#lowest, THE_WARP)
        .memory('v128.load', WARP.programCounters + offset)
        .op('i32x4.min_s')
        .set(this.#lowest);
    reduce(b, this.#lowest, 'min_s');
    b.get(this.#lowest).lane('i32x4.extract_lane', 0).set(this.#next);
  }

  /** No lane can run, so all lanes that have not exited wait at a barrier. */
  #finishUnlessAllMet(): void {
    const b = this.#b;
    b.i32x4(0).set(this.#others);
    for (const offset of chunkOffsets) {
      const pushCounters = () => b.get(THE_WARP).memory('v128.load', WARP.programCounters + offset);
      pushCounters().get(this.#lowest).op('i32x4.ne');
      pushCounters().i32x4(PC.exited).op('i32x4.ne', 'v128.and').get(this.#others).op('v128.or').set(this.#others);
    }
    b.get(this.#others).op('v128.any_true');
    b.if(() => this.#finish(RUN_STATUS.lanesWaiting));
  }

  /** The lanes at the lowest counter, as masks and as bits. */
  #setMask(): void {
    const b = this.#b;
    b.i32(0).set(this.#bits);
    for (const [chunk, offset] of chunkOffsets.entries()) {
      b.get(THE_WARP)
        .memory('v128.load', WARP.programCounters + offset)
        .get(this.#lowest)
        .op('i32x4.eq')
        .set(this.#mask);
      b.get(THE_WARP, this.#mask).memory('v128.store', WARP.mask + offset);
      b.get(this.#mask)
        .op('i32x4.bitmask')
        .i32(chunk * 4)
        .op('i32.shl')
        .get(this.#bits)
        .op('i32.or')
        .set(this.#bits);
    }
    b.get(THE_WARP, this.#bits).store(WARP.activeBits);
    b.get(this.#bits).i32(-1).op('i32.eq').set(this.#converged);
  }
}
