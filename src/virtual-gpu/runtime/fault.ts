import type { PtxInstruction } from '../../ptx/ast.ts';

/** Why a CTA was stopped. The device turns it into a DeviceFailure. */
export type FaultKind = 'out-of-bounds' | 'misaligned' | 'trap' | 'barrier' | 'budget' | 'unsupported';

/** Thrown through WebAssembly frames to stop a CTA; never leaves the virtual GPU. */
export class KernelFault extends Error {
  readonly kind: FaultKind;
  readonly instruction: PtxInstruction | undefined;
  /** Lane within its warp, or undefined when the fault is not one lane's. */
  readonly lane: number | undefined;
  readonly address: bigint | undefined;
  readonly accessBytes: number | undefined;
  readonly space: string | undefined;
  /** Set by the runner. */
  warpIndex: number | undefined;

  constructor(
    kind: FaultKind,
    message: string,
    where: {
      instruction?: PtxInstruction;
      lane?: number;
      address?: bigint;
      accessBytes?: number;
      space?: string;
    } = {},
  ) {
    super(message);
    this.name = 'KernelFault';
    this.kind = kind;
    this.instruction = where.instruction;
    this.lane = where.lane;
    this.address = where.address;
    this.accessBytes = where.accessBytes;
    this.space = where.space;
  }
}
