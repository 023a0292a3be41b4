/** NaN in every floating dtype (not the canonical NaN that GPUs compute), −1 or the maximum in every integer one. */
export const NAN_BYTE = 0xff;

/** Of a {@link PagedBuffer}. Small, since CTAs that walk down columns touch a few bytes of each of many pages. */
export const BUFFER_PAGE_BYTES = 4096;

/** A buffer that may be larger than the device's memory: only the pages that a launch touches are made. */
export interface PagedBuffer {
  readonly name: string;
  readonly bytes: number;
  /** Repeated over the whole buffer; {@link NAN_BYTE} everywhere if it is absent. */
  readonly period?: Uint8Array;
}
