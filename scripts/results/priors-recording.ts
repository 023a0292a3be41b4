/** Evaluations until a setting is good. */
export interface SearchCost {
  /** `null` if the limit came first. */
  readonly median: number | null;
  readonly p90: number | null;
  /** Of all seeds, each at most the limit. */
  readonly mean: number;
  /** Share of the seeds that found one, 0…1. */
  readonly reached: number;
}

/** One space, searched with what is known of a sibling. */
export interface PriorRow {
  /** Measured by others; predicted on virtual devices; measured on an H200. */
  readonly kind: 'public' | 'predicted' | 'measured';
  readonly space: string;
  readonly prior: string;
  readonly configurations: number;
  /** Within the percentage of the best. */
  readonly good: number;
  /** Configurations that the sibling knows. */
  readonly known: number;
  readonly without: SearchCost;
  readonly with: SearchCost;
  readonly shuffled: SearchCost;
}

/** docs/results/search-priors.json */
export interface PriorsRecording {
  readonly schemaVersion: 1;
  readonly date: string;
  readonly warpsmith: string;
  readonly seeds: number;
  /** Percent above the best that counts as good. */
  readonly within: number;
  /** Limit of a run. */
  readonly evaluations: number;
  readonly rows: readonly PriorRow[];
}

/** Evaluations with ÷ without a prior, and with a shuffled one ÷ without: geometric means of the means of all spaces. */
export function priorShares(rows: readonly PriorRow[]): { readonly with: number; readonly shuffled: number } {
  const share = (of: (row: PriorRow) => SearchCost): number =>
    Math.exp(rows.reduce((sum, row) => sum + Math.log(of(row).mean / row.without.mean), 0) / rows.length);
  return { with: share((row) => row.with), shuffled: share((row) => row.shuffled) };
}

/** A row of docs/results/attention-notebook-sweep.json: kernel, parameters, registers, spilled bytes, workload, median in µs. */
export type SweepRow = readonly [string, Readonly<Record<string, number>>, number, number, string, number];

/** docs/results/attention-sweep-predicted.json: settings of the sweep as a virtual GPU predicts them. */
export interface PredictedSweep {
  readonly schemaVersion: 1;
  readonly device: string;
  readonly date: string;
  readonly warpsmith: string;
  readonly columns: readonly string[];
  /** Kernel, parameters, workload, time; `null` where it has none. */
  readonly rows: readonly (readonly [string, Readonly<Record<string, number>>, string, number | null])[];
}
