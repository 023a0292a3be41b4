import type { PtxInstruction } from '../../ptx/ast.ts';
import { KernelFault } from './fault.ts';

/** Counts that `setmaxnreg` takes. Source: PTX ISA. */
const COUNTS = { least: 24, most: 256, unit: 8 } as const;

/** Who asks. */
interface Asker {
  readonly instruction: PtxInstruction;
  readonly lanes: readonly number[];
}

/** Registers per thread that warps of a CTA have, and that are left over. */
export class RegisterPool {
  #atStart: number | undefined;
  #free = 0;
  readonly #counts = new Map<number, number>();
  /** Warps that ask for more than is left, in the order in which they asked. */
  #owed: { warp: number; count: number; asker: Asker }[] = [];

  /** @param atStart registers per thread at the launch, where the code says. */
  reset(atStart: number | undefined): void {
    this.#atStart = atStart;
    this.#free = 0;
    this.#counts.clear();
    this.#owed = [];
  }

  /** @throws KernelFault for a count that the instruction does not take. */
  set(asker: Asker, warp: number, count: number, isIncrease: boolean): void {
    if (this.#atStart === undefined) return;
    const has = this.#counts.get(warp) ?? this.#atStart;
    const isAllowed = count >= COUNTS.least && count <= COUNTS.most && count % COUNTS.unit === 0;
    if (!isAllowed) throw mistake(asker, `takes 24 to 256 registers, a multiple of 8, not ${count}`);
    if (isIncrease ? count < has : count > has)
      throw mistake(asker, `asks for ${count} registers per thread where the warp has ${has}`);
    if (isIncrease) this.#owed.push({ warp, count, asker });
    else this.#give(warp, has, count);
    while (this.#owed[0] && this.#takes(this.#owed[0])) this.#owed.shift();
  }

  #takes({ warp, count }: { warp: number; count: number }): boolean {
    const has = this.#counts.get(warp) ?? this.#atStart!;
    if (count - has > this.#free) return false;
    this.#give(warp, has, count);
    return true;
  }

  #give(warp: number, has: number, count: number): void {
    this.#free += has - count;
    this.#counts.set(warp, count);
  }

  /** @throws KernelFault if a warp would still wait for registers at the end of its CTA. */
  finish(): void {
    const [owed] = this.#owed;
    if (!owed) return;
    const has = this.#counts.get(owed.warp) ?? this.#atStart!;
    throw mistake(
      owed.asker,
      `waits for ever: warp ${owed.warp} has ${has} registers per thread and asks for ${owed.count}, and ${this.#free} are left of ${this.#atStart} per warp at the launch`,
    );
  }
}

const mistake = ({ instruction, lanes }: Asker, what: string): KernelFault =>
  new KernelFault('registers', `${instruction.text} ${what}`, { instruction, lane: lanes[0] });
