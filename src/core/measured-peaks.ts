/** Peaks measured on one GPU, beside those of its datasheet. Plain JSON. */
export interface MeasuredPeaks {
  /** Bytes read plus bytes written per second by the fastest variant of warpsmith's copy kernel. */
  readonly copyBytesPerSecond: number;
  /** How the copy was made, e.g. `copy16, 480 MB, median of 11`. */
  readonly copyMethod: string;
  /** Dense fp16 with fp32 accumulation, by the vendor's library on random data; absent if there is no library. */
  readonly matrixFlopPerSecond?: number;
  /** How the product was made, or why there is none. */
  readonly matrixMethod: string;
  /** The datasheet's figures, at the maximum clock. */
  readonly datasheet: { readonly dramBytesPerSecond: number; readonly matrixFlopPerSecond: number };
  /** ISO 8601. */
  readonly measuredAt: string;
  readonly uuid: string;
  readonly driver: string;
}
