import { NAN_BYTE } from '../../core/paged-buffer.ts';

/** Contents of outputs and undefined workspaces before a run, by which unwritten elements are detected. */
export interface Poison {
  /** Repeated over the whole buffer: one byte serves every dtype. */
  readonly byteValue: number;
}

/** NaN in every floating dtype (not the canonical NaN that GPUs compute), −1 or the maximum in every integer one. */
export const NAN_POISON: Poison = { byteValue: NAN_BYTE };

/** A large finite number in every dtype: f16 61,280; bf16, f32 and f64 above 1e36; integers near their maximum. */
export const FINITE_POISON: Poison = { byteValue: 0x7b };

/** Zeros, the usual contents of unwritten memory. They show whether a kernel passes only by luck. */
export const ZERO_POISON: Poison = { byteValue: 0 };
