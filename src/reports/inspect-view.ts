import type { Counters, LineCounters } from '../core/counters.ts';
import type { DeviceIdentity } from '../core/device.ts';
import { emptyLineCounters } from '../core/empty-line-counters.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { ParameterValues } from '../core/kernel.ts';
import type { EvaluationStatus } from '../core/status.ts';
import { sum } from '../core/values.ts';
import type { PtxInstruction } from '../ptx/ast.ts';
import { parsePtx } from '../ptx/parse.ts';
import { formatFigure } from './format.ts';
import type { Joined } from './view/progression.ts';
import type { ReadSource } from './view/source-diffs.ts';

/** A line of PTX that came from a source line. */
export interface InspectedPtx {
  /** Line in the PTX, from 1. */
  line: number;
  function: string;
  text: string;
}

/** Accesses of one kind from one line. */
export interface InspectedAccess {
  requests: number;
  /** Sectors of 32 bytes for global memory, wavefronts for shared. */
  units: number;
  unitsPerRequest: number;
}

/** One line of the source with what it costs. Shares are of the whole launch sequence; null where nothing is counted. */
export interface InspectedLine
  extends Pick<LineCounters, 'instructions' | 'bankConflicts' | 'barriers' | 'atomics' | 'divergentBranches'> {
  file: string;
  line: number;
  text: string;
  instructionShare: number | null;
  /** Active lanes of an instruction, on average. */
  lanesPerInstruction: number | null;
  /** Share of all sectors and wavefronts: what the load/store units move. */
  transactionShare: number | null;
  globalLoad: InspectedAccess | null;
  globalStore: InspectedAccess | null;
  sharedLoad: InspectedAccess | null;
  sharedStore: InspectedAccess | null;
  /** What is out of the ordinary, in words. */
  flags: string[];
  ptx: InspectedPtx[];
}

export interface InspectView {
  schemaVersion: 1;
  kind: 'inspect';
  candidate: { id: string; label: string; kernel: string; parameters: ParameterValues };
  device: DeviceIdentity;
  workload: string;
  status: EvaluationStatus;
  reason?: string;
  /** Who counted: a virtual GPU or a profiler; null where nobody did. */
  counters: { kind: 'virtual' | 'profiled'; detail: string } | null;
  totals: { instructions: number; sectors: number; wavefronts: number; ptxInstructions: number };
  /** Share of the instructions that carry a line of the source. */
  attributedShare: number | null;
  /** Hot lines first: by instructions, then transactions. */
  hot: { file: string; line: number }[];
  /** In source order, every line of every file. */
  lines: InspectedLine[];
}

/** Lanes that would fill 90 % of a warp. */
const FEW_LANES = 0.9 * 32;
/** Sectors or wavefronts beyond half as many again as the widest access of the line needs. */
const EXCESS = 1.5;
const SECTOR_BYTES = 32;
const LANES = 32;

type Place = { file: string; line: number };
const keyOf = ({ file, line }: Place): string => `${file}:${line}`;

/** Annotates the sources of a judged candidate with counters by line and with the PTX they became. */
export function buildInspectView(request: {
  readonly evaluation: Evaluation;
  readonly label: string;
  readonly sources: Readonly<Record<string, string>>;
  readonly ptx: string | undefined;
}): InspectView {
  const { evaluation, label, sources, ptx } = request;
  const counted = sumByLine(evaluation);
  const instructions = ptx === undefined ? [] : ptxInstructions(ptx, sources);
  const all = evaluation.counters ? totals(evaluation.counters) : { instructions: 0, sectors: 0, wavefronts: 0 };
  const byLine = Map.groupBy(instructions, ({ place }) => keyOf(place));
  const lines = Object.entries(sources).flatMap(([file, text]) =>
    textLines(text).map((line, index) =>
      inspectLine({ file, line: index + 1 }, line, counted, byLine, { ...all, ptxInstructions: instructions.length }),
    ),
  );
  const attributed = sum(lines.map(({ instructions: own }) => own));
  const { candidate } = evaluation;
  return {
    schemaVersion: 1,
    kind: 'inspect',
    candidate: { id: candidate.id, label, kernel: candidate.kernel, parameters: candidate.parameters },
    device: evaluation.device,
    workload: evaluation.workload.name,
    status: evaluation.status,
    reason: evaluation.reason,
    counters: sourceOfCounters(evaluation),
    totals: { ...all, ptxInstructions: instructions.length },
    attributedShare: all.instructions > 0 ? attributed / all.instructions : null,
    hot: hottestFirst(lines).map(({ file, line }) => ({ file, line })),
    lines,
  };
}

const textLines = (text: string): string[] => text.replace(/\n$/, '').split('\n');

function sourceOfCounters({ counters, countersSource, device }: Evaluation): InspectView['counters'] {
  if (!counters) return null;
  if (countersSource?.kind === 'ncu') return { kind: 'profiled', detail: countersSource.detail };
  return { kind: 'virtual', detail: countersSource?.detail ?? `counted on ${device.id}` };
}

/** What a line, or the launch sequence, issues and moves. */
const totals = (counters: LineCounters | Counters) => ({
  instructions: counters.instructions,
  sectors: counters.globalLoadSectors + counters.globalStoreSectors,
  wavefronts: counters.sharedLoadWavefronts + counters.sharedStoreWavefronts,
});

function sumByLine({ counters }: Evaluation): Map<string, LineCounters> {
  const sums = new Map<string, LineCounters>();
  for (const line of counters?.launches.flatMap((launch) => launch.lines) ?? []) {
    const key = keyOf(line.location);
    const sum = sums.get(key) ?? emptyLineCounters(line.location);
    for (const [name, value] of Object.entries(line)) {
      if (typeof value === 'number') (sum as unknown as Record<string, number>)[name]! += value;
    }
    sums.set(key, sum);
  }
  return sums;
}

interface PlacedInstruction {
  readonly place: Place;
  readonly function: string;
  readonly instruction: PtxInstruction;
  readonly text: string;
}

/** Instructions that came from the user's own files. */
function ptxInstructions(ptx: string, sources: Readonly<Record<string, string>>): PlacedInstruction[] {
  const texts = ptx.split('\n');
  const module = parsePtx(ptx, { isUserFile: (path) => Object.hasOwn(sources, path) });
  return module.functions.flatMap(({ name, body }) =>
    body.flatMap((statement) => {
      if (statement.kind === 'label' || !statement.instruction.source) return [];
      const { instruction } = statement;
      const text = (texts[instruction.ptxLine - 1] ?? instruction.text).replaceAll(/\s+/g, ' ').trim();
      return [{ place: statement.instruction.source, function: name, instruction, text }];
    }),
  );
}

function inspectLine(
  place: Place,
  text: string,
  counted: ReadonlyMap<string, LineCounters>,
  byLine: ReadonlyMap<string, readonly PlacedInstruction[]>,
  all: InspectView['totals'],
): InspectedLine {
  const counters = counted.get(keyOf(place)) ?? emptyLineCounters(place);
  const ptx = byLine.get(keyOf(place)) ?? [];
  const access = (requests: number, units: number): InspectedAccess | null =>
    requests > 0 ? { requests, units, unitsPerRequest: units / requests } : null;
  const { sectors, wavefronts } = totals(counters);
  const line: Omit<InspectedLine, 'flags'> = {
    ...place,
    text,
    instructions: counters.instructions,
    instructionShare: all.instructions > 0 ? counters.instructions / all.instructions : null,
    lanesPerInstruction: counters.instructions > 0 ? counters.threadInstructions / counters.instructions : null,
    transactionShare: all.sectors + all.wavefronts > 0 ? (sectors + wavefronts) / (all.sectors + all.wavefronts) : null,
    globalLoad: access(counters.globalLoadRequests, counters.globalLoadSectors),
    globalStore: access(counters.globalStoreRequests, counters.globalStoreSectors),
    sharedLoad: access(counters.sharedLoadRequests, counters.sharedLoadWavefronts),
    sharedStore: access(counters.sharedStoreRequests, counters.sharedStoreWavefronts),
    bankConflicts: counters.bankConflicts,
    barriers: counters.barriers,
    atomics: counters.atomics,
    divergentBranches: counters.divergentBranches,
    ptx: ptx.map(({ function: name, instruction, text: ptxText }) => ({
      line: instruction.ptxLine,
      function: name,
      text: ptxText,
    })),
  };
  return { ...line, flags: flagsOf(line, ptx) };
}

function flagsOf(line: Omit<InspectedLine, 'flags'>, ptx: readonly PlacedInstruction[]): string[] {
  const conflicts = line.bankConflicts / ((line.sharedLoad?.requests ?? 0) + (line.sharedStore?.requests ?? 0));
  return [
    ...scattered(line.globalLoad, 'load', sectorsNeeded(ptx, 'ld')),
    ...scattered(line.globalStore, 'store', sectorsNeeded(ptx, 'st')),
    ...(line.bankConflicts > 0 ? [`bank conflicts: ${formatFigure(conflicts)} extra wavefronts per request`] : []),
    ...(line.divergentBranches > 0 ? [`divergence: ${line.divergentBranches} branches on which lanes part`] : []),
    ...(line.lanesPerInstruction !== null && line.lanesPerInstruction < FEW_LANES
      ? [`few lanes: ${formatFigure(line.lanesPerInstruction)} of 32 active`]
      : []),
  ];
}

/** Without PTX of the line, what 16 bytes a lane would need: then only what no width explains is called scattered. */
function scattered(access: InspectedAccess | null, name: string, needed: number): string[] {
  if (!access || !(access.unitsPerRequest > EXCESS * needed)) return [];
  return [
    `scattered ${name}: ${formatFigure(access.unitsPerRequest)} sectors per request, ${formatFigure(needed)} would do`,
  ];
}

const WIDEST_BYTES = 16;
const sectorsOf = (bytesPerLane: number): number => Math.max(1, (bytesPerLane * LANES) / SECTOR_BYTES);

/** Sectors of the line's widest coalesced access. */
function sectorsNeeded(ptx: readonly PlacedInstruction[], opcode: 'ld' | 'st'): number {
  const widths = ptx
    .map(({ instruction }) => instruction)
    .filter((instruction) => instruction.opcode === opcode && instruction.modifiers.includes('global'))
    .map(bytesPerLane);
  return sectorsOf(widths.length === 0 ? WIDEST_BYTES : Math.max(...widths));
}

/** `ld.global.v4.f32`: 16. */
function bytesPerLane({ modifiers }: PtxInstruction): number {
  const vector = Number(modifiers.find((modifier) => /^v[248]$/.test(modifier))?.slice(1) ?? 1);
  const bits = Number(/\d+$/.exec(modifiers.at(-1) ?? '')?.[0] ?? 32);
  return (vector * bits) / 8;
}

/** Lines that issue anything, the costliest first; equal ones in source order. */
export const hottestFirst = (lines: readonly InspectedLine[]): InspectedLine[] =>
  lines
    .filter(({ instructions }) => instructions > 0)
    .sort(
      (left, right) =>
        right.instructions - left.instructions || (right.transactionShare ?? 0) - (left.transactionShare ?? 0),
    );

/** As many as a reader looks at; `warpsmith inspect` has all of them, with their PTX. */
const MOST_LINES = 10;

/** The lines of a candidate's sources that cost most. */
export interface HotLines {
  evaluationId: string;
  /** Who counted, e.g. `counted on virtual:l4`. */
  countedBy: string;
  /** Of all instructions, those that carry a line of the source. */
  attributedShare: number;
  /** The costliest first. */
  lines: Omit<InspectedLine, 'ptx'>[];
}

/** Of an evaluation whose counters have lines, from what the run stored of its sources. */
export function hotLinesOf(joined: readonly Joined[], bestId: string | undefined, read: ReadSource): HotLines | null {
  const one = joined.find(({ finished: { evaluation } }) => evaluation.id === bestId) ?? joined[0];
  if (!one) return null;
  const { evaluation, sources: hashes } = one.finished;
  const texts = Object.entries(hashes).map(([file, hash]) => [file, read(hash) ?? ''] as const);
  const view = buildInspectView({ evaluation, label: '', sources: Object.fromEntries(texts), ptx: undefined });
  const lines = hottestFirst(view.lines).slice(0, MOST_LINES);
  if (!view.counters || lines.length === 0) return null;
  return {
    evaluationId: evaluation.id,
    countedBy: view.counters.detail,
    attributedShare: view.attributedShare ?? 0,
    lines: lines.map(({ ptx: _, ...line }) => line),
  };
}
