/** Peak rates of a device for one problem. No kernel exceeds the lower of the two at its arithmetic intensity. */
export interface Roof {
  readonly flopPerSecond: number;
  /** The origin of the FLOP rate, e.g. `fp16 tensor, measured matrix product`. */
  readonly computeSource: string;
  /** `null` where no rate of memory bounds the time. */
  readonly bytesPerSecond: number | null;
  /** What the byte rate is of, e.g. `DRAM datasheet`. */
  readonly memorySource: string | null;
}

/** Costs of a workload and rates of a device: the data of a roofline plot. Plain JSON. */
export interface Roofline {
  readonly workload: string;
  /** Floating-point operations of the usual algorithm. */
  readonly flop: number;
  /** Floating-point operations no algorithm can avoid. */
  readonly minimumFlop: number;
  /** Bytes that must be read when the caches are cold. */
  readonly minimumReadBytes: number;
  /** The rates behind the provable bound. */
  readonly veto: Roof;
  /** The rates behind the attainable bound. */
  readonly attainable: Roof;
}
