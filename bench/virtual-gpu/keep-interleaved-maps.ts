/**
 * Makes the recording of interleaved tensor maps from what interleaved-maps.cu printed on a GPU.
 *
 *     node bench/virtual-gpu/keep-interleaved-maps.ts probe-part.*.jsonl --recorded-at 2026-11-27 [--output docs/results/h200-interleaved-maps.json]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type {
  InterleavedMaps,
  ProbedBox,
  ProbedCopies,
  ProbedMap,
  Sweep,
} from '../../test/virtual-gpu/recorded/interleaved-maps.ts';

/** A line of the program. */
interface Line {
  readonly i: number;
  readonly op: string;
  readonly il: number;
  readonly type: string;
  readonly dim: number[];
  readonly str: number[];
  readonly box: number[];
  readonly es: number[];
  readonly swz: number;
  readonly fill: number;
  readonly shift: number;
  readonly at: number[];
  readonly encode?: number;
  readonly error?: string;
  readonly got?: string;
  readonly raw?: string;
  readonly sweep?: string;
  readonly from?: number;
  readonly to?: number;
  readonly taken?: string;
}

interface Header {
  readonly device: string;
  readonly driver: number;
}

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: 'docs/results/h200-interleaved-maps.json' },
    'recorded-at': { type: 'string' },
  },
});

const lines = files
  .flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean))
  .map((text) => JSON.parse(text) as Line & Header);
const header = lines.find(({ i }) => i === -3);
if (!header || !options['recorded-at'])
  throw new Error('name the files of a whole run, one with the header, and --recorded-at');

const mapOf = ({ il, type, dim, str, box, es, swz, fill, shift }: Line): ProbedMap => ({
  ...{ slice: il, dtype: type, globalDim: dim, globalStridesBytes: str, boxDim: box, elementStrides: es },
  ...{ swizzle: swz, fill: fill === 1 ? 'nan' : 'zeros', startBytes: shift },
});

/** Bytes that the program told the mbarrier to expect: more than any box has. */
const EXPECTED = 2 ** 20 - 16;
const FIELD = 21n;

/**
 * Bytes of which the mbarrier was told: its state holds how many are missing above 21 bits that count arrivals. Most lines hold 0
 * instead of a state; why, nobody knows.
 */
function countedOf({ raw = '0' }: Line): number | undefined {
  const state = BigInt(`0x${raw}`);
  if ((state & 0x1fffffn) !== 0x1ffffen) return undefined;
  const missing = Number(BigInt.asIntN(Number(FIELD), -(state >> FIELD)));
  return EXPECTED - missing;
}

function boxOf(line: Line): ProbedBox {
  if (line.error !== undefined) {
    if (!line.error.endsWith('cudaErrorIllegalInstruction')) throw new Error(`${line.i}: ${line.error}`);
    return { at: line.at, stops: true };
  }
  const counted = countedOf(line);
  return { at: line.at, got: line.got!, ...(counted !== undefined && { counted }) };
}

/** Lines of one map together, in the order of the first. */
function grouped<T>(given: readonly Line[], keyOf: (line: Line) => T): [T, Line[]][] {
  const groups = new Map<string, [T, Line[]]>();
  for (const line of given) {
    const key = keyOf(line);
    const group = groups.get(JSON.stringify(key)) ?? [key, []];
    group[1].push(line);
    groups.set(JSON.stringify(key), group);
  }
  return [...groups.values()];
}

const probed = lines.filter(({ i, il }) => i >= 0 && il > 0).sort((a, b) => a.i - b.i);
const copies = grouped(probed, (line) => ({
  operation: line.op === 'L' ? ('load' as const) : ('store' as const),
  ...mapOf(line),
})).map(([map, own]): ProbedCopies => {
  const isRefused = own.some(({ encode }) => encode !== undefined);
  return isRefused ? { ...map, isRefused, boxes: [] } : { ...map, boxes: own.map(boxOf) };
});
const sweeps = grouped(
  lines.filter(({ sweep }) => sweep !== undefined),
  mapOf,
).map(([map, own]) => ({
  ...map,
  taken: own.map(({ sweep, from, to, taken }): Sweep => [sweep!, from!, to!, taken!]),
}));

const recording: InterleavedMaps = {
  schemaVersion: 1,
  device: header.device,
  driver: `of CUDA ${Math.floor(header.driver / 1000)}.${(header.driver % 1000) / 10}`,
  versions: {},
  recordedAt: options['recorded-at'],
  copies,
  sweeps,
};
/** A map a line. */
const { copies: _, sweeps: __, ...head } = recording;
const list = (values: readonly object[]) => `[\n${values.map((value) => JSON.stringify(value)).join(',\n')}\n]`;
const text = `${JSON.stringify(head).slice(0, -1)},\n"copies":${list(copies)},\n"sweeps":${list(sweeps)}}\n`;
writeFileSync(options.output, text);
process.stdout.write(`${copies.length} maps, ${copies.reduce((sum, { boxes }) => sum + boxes.length, 0)} boxes\n`);
