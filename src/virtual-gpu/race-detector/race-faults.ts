import { coordinatesOf, type Dim3 } from '../../core/launch-plan.ts';
import { LANES, WINDOW } from '../layout.ts';
import { atSource, type FaultPlace, KernelFault } from '../runtime/fault.ts';
import type { DeviceRange } from '../runtime/memories.ts';
import type { EarlierAccess } from './earlier-access.ts';
import type { WatchedAccess } from './watched-access.ts';

/** The later of two accesses. */
interface LaterAccess {
  readonly space: 'global' | 'shared';
  readonly address: number;
  readonly access: WatchedAccess;
  readonly lane: number;
}

/** Grid and block of the launch, and the linear index of the CTA that runs. */
interface Surroundings {
  readonly grid: Dim3;
  readonly block: Dim3;
  readonly cta: number;
}

/** Tells of races: names both accesses by thread, CTA and line. */
export class RaceFaults {
  readonly #accesses: readonly WatchedAccess[];
  readonly #around: () => Surroundings;

  /** @param accesses of the kernel, by number. */
  constructor(accesses: readonly WatchedAccess[], around: () => Surroundings) {
    this.#accesses = accesses;
    this.#around = around;
  }

  /** @param warp of the later access, if lanes of one warp are compared, too. */
  race(earlier: EarlierAccess, later: LaterAccess, warp?: number): KernelFault {
    const { space, access } = later;
    const inCta = earlier.warp === warp ? 'no __syncwarp' : 'no barrier';
    const between = !this.#isOfOther(earlier) ? inCta : BETWEEN_CTAS[space];
    const message =
      `race: a ${space} ${verb(access.isWrite)} of ${access.bytes} bytes and a ${this.#describe(earlier)} ` +
      `have ${between} between them:`;
    return new KernelFault('race', message, placeOf(later));
  }

  /** A read through the non-coherent path, however it is ordered with the write. */
  stale(earlier: EarlierAccess, later: LaterAccess): KernelFault {
    const message =
      `race: a read of ${later.access.bytes} bytes through the non-coherent path (ld.global.nc: __ldg, or const __restrict__) may miss the ` +
      `${this.#describe(earlier)} in the same launch:`;
    return new KernelFault('race', message, placeOf(later));
  }

  /** A read by another proxy, of what an ordinary store wrote that no fence follows. */
  unfenced(earlier: EarlierAccess, later: LaterAccess): KernelFault {
    const message =
      `race: ${later.access.instruction.text} may read what lay in shared memory before the ${this.#describe(earlier)}: no ` +
      'fence.proxy.async is between them:';
    return new KernelFault('race', message, placeOf(later));
  }

  /** An access of another CTA that may come when this one has exited. */
  afterEnd(earlier: EarlierAccess): KernelFault {
    const message =
      `race: the ${this.#describe(earlier)} to shared memory of this CTA may come after the CTA has exited: nothing that the ` +
      'CTA waits for follows it';
    return new KernelFault('race', message);
  }

  #isOfOther({ cta }: EarlierAccess): boolean {
    return cta !== undefined && cta !== this.#around().cta;
  }

  /** `write of thread (0, 0, 0) of CTA (1, 0, 0) at kernel.cu:7`. */
  #describe(earlier: EarlierAccess): string {
    const { grid, block } = this.#around();
    const thread = coordinatesOf(earlier.warp * LANES + (earlier.where % LANES), block).join(', ');
    const cta = this.#isOfOther(earlier) ? ` of CTA (${coordinatesOf(earlier.cta!, grid).join(', ')})` : '';
    const { source } = this.#accesses[Math.floor(earlier.where / LANES)]!.instruction;
    return `${verb(earlier.isWrite)} of thread (${thread})${cta}${atSource(source)}`;
  }
}

const BETWEEN_CTAS = { shared: 'no barrier of the cluster', global: 'no fence and flag' } as const;

/** A write to an input, whatever is written. */
export function writeToInput({ start, bytes, name }: DeviceRange, later: LaterAccess): KernelFault {
  return new KernelFault('read-only', `writes to input '${name}', which others may be reading:`, {
    ...placeOf(later),
    buffer: { name, offsetBytes: later.address - start, sizeBytes: bytes },
  });
}

const placeOf = ({ space, address, access: { instruction, bytes }, lane }: LaterAccess): FaultPlace => ({
  ...{ instruction, lane, accessBytes: bytes, space },
  address: BigInt(address) | (space === 'global' ? BigInt(WINDOW.global) << 32n : 0n),
});

const verb = (isWrite: boolean): string => (isWrite ? 'write' : 'read');
