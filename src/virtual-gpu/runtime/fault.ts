import type { PtxInstruction } from '../../ptx/ast.ts';

/** Why a CTA was stopped. The device turns it into a DeviceFailure. */
export type FaultKind =
  | 'out-of-bounds'
  | 'misaligned'
  | 'trap'
  | 'barrier'
  | 'tensor-map'
  | 'registers'
  | 'race'
  | 'read-only'
  | 'budget'
  /** The launch's time limit has passed. */
  | 'late'
  /** All CTAs that run wait for ever. */
  | 'standstill'
  | 'unsupported';

/** ` at kernel.cu:7`; nothing where the place is not known. */
export const atSource = (source: PtxInstruction['source']): string =>
  source ? ` at ${source.file}:${source.line}` : '';

/** What is known about where a fault happened. */
export interface FaultPlace {
  instruction?: PtxInstruction;
  lane?: number;
  address?: bigint;
  accessBytes?: number;
  space?: string;
  /** The buffer to which the pointer belongs, and the access's offset in it. */
  buffer?: { name: string; offsetBytes: number; sizeBytes: number };
}

/** Thrown through WebAssembly frames to stop a CTA; never leaves the virtual GPU. */
export class KernelFault extends Error {
  readonly kind: FaultKind;
  readonly instruction: PtxInstruction | undefined;
  /** Lane within its warp; undefined if no single lane caused the fault. */
  readonly lane: number | undefined;
  readonly address: bigint | undefined;
  readonly accessBytes: number | undefined;
  readonly space: string | undefined;
  readonly buffer: FaultPlace['buffer'];
  /** Set by the runner. */
  warpIndex: number | undefined;
  /** Linear index of the CTA; set by the runner. */
  cta: number | undefined;

  constructor(kind: FaultKind, message: string, where: FaultPlace = {}) {
    super(message);
    this.name = 'KernelFault';
    this.kind = kind;
    this.instruction = where.instruction;
    this.lane = where.lane;
    this.address = where.address;
    this.accessBytes = where.accessBytes;
    this.space = where.space;
    this.buffer = where.buffer;
  }
}

/** An address of the cluster's shared memory, in an instruction that takes one of the own CTA's. */
export const outOfOwnCta = (rank: number, verb: string, place: FaultPlace): KernelFault =>
  new KernelFault(
    'out-of-bounds',
    `a ${verb} at an address that names CTA ${rank} of the cluster, by an instruction for the own CTA's shared memory: ` +
      'such an address needs .shared::cluster, or a generic address,',
    place,
  );
