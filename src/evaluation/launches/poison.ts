/** What outputs and undefined workspaces hold before a run, so that what a kernel never wrote can be told. */
export interface Poison {
  /** Repeated over the whole buffer: one byte serves every dtype. */
  readonly byteValue: number;
}

/** NaN in every floating dtype (not the canonical NaN that GPUs compute), −1 or the maximum in every integer one. */
export const NAN_POISON: Poison = { byteValue: 0xff };

/** A large finite number in every dtype: f16 61,280; bf16, f32 and f64 above 1e36; integers near their maximum. */
export const FINITE_POISON: Poison = { byteValue: 0x7b };

/** Zeros, what memory that nobody wrote often holds: shows what a kernel that needs it would do by luck. */
export const ZERO_POISON: Poison = { byteValue: 0 };
