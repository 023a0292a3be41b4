/** What a recording on real hardware depends on. */
export interface MeasuredWith {
  /** e.g. `NVIDIA H200`. */
  device: string;
  driver: string;
  /** e.g. warpsmith, compiler, node. */
  versions: Readonly<Record<string, string>>;
  /** ISO 8601, UTC. */
  recordedAt: string;
}
