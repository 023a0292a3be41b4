import { LINE_BYTES } from '../../core/gpu-sizes.ts';
import { atomicTurns, countSectors, sharedCost } from './access-costs.ts';
import { type AccessCounts, noCounts } from './pattern-counter.ts';

/** `cluster`: shared memory of another CTA of the cluster. */
export const REQUEST_SPACES = ['global', 'shared', 'cluster', 'local'] as const;
const KINDS = ['load', 'store', 'atomic'] as const;

export type RequestKind = (typeof KINDS)[number];

/** One warp-wide request to memory, for counting. */
export interface MemoryRequest {
  space: (typeof REQUEST_SPACES)[number];
  kind: RequestKind;
  /** Address of each lane that takes part, without its window. */
  addresses: number[];
  lanes: readonly number[];
  bytes: number;
}

type Destination = `${MemoryRequest['space']}-${RequestKind}`;
const DESTINATIONS = REQUEST_SPACES.flatMap((space) => KINDS.map((kind): Destination => `${space}-${kind}`));
/** Looked up, since joining strings for every request takes longer than counting it. */
const DESTINATION_OF = Object.fromEntries(
  REQUEST_SPACES.map((space) => [space, Object.fromEntries(KINDS.map((kind) => [kind, `${space}-${kind}`]))]),
) as Record<MemoryRequest['space'], Record<RequestKind, Destination>>;

/** `bytes` sums the requested bytes of all lanes, `turns` those that atomics in device memory take. */
export type RequestSums = AccessCounts & { bytes: number; turns: number };

/** Requests of one warp-level instruction, by destination. */
export type SiteRequests = Record<Destination, RequestSums>;

export const noSiteRequests = (): SiteRequests =>
  Object.fromEntries(
    DESTINATIONS.map((destination) => [destination, { ...noCounts(), bytes: 0, turns: 0 }]),
  ) as SiteRequests;

/** Adds what was counted of others. */
export function addSums(sums: RequestSums, others: RequestSums): void {
  sums.requests += others.requests;
  sums.lanes += others.lanes;
  sums.units += others.units;
  sums.conflicts += others.conflicts;
  sums.merged += others.merged;
  sums.lines += others.lines;
  sums.bytes += others.bytes;
  sums.turns += others.turns;
}

/** Adds one request's sectors, or wavefronts and conflicts. */
export function addRequest(sums: SiteRequests, { space, kind, addresses, lanes, bytes }: MemoryRequest): void {
  const counts = sums[DESTINATION_OF[space][kind]];
  counts.requests++;
  counts.lanes += lanes.length;
  counts.bytes += lanes.length * bytes;
  if (space === 'global') {
    counts.units += countSectors(addresses, bytes);
    if (kind === 'load') counts.lines += countSectors(addresses, bytes, LINE_BYTES);
  }
  if (space === 'global' && kind === 'atomic') counts.turns += atomicTurns(addresses);
  if (space !== 'shared') return;
  const { wavefronts, conflicts } = sharedCost(addresses, lanes, bytes, kind === 'store');
  counts.units += wavefronts;
  counts.conflicts += conflicts;
  counts.merged += wavefronts;
}
