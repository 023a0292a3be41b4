/**
 * Makes the recording of interleaved tensor maps from what interleaved_maps.cu printed on a GPU.
 *
 *     node bench/virtual-gpu/keep-interleaved-maps.ts FILE.jsonl… --recorded-at 2026-11-27 [--output docs/results/h200-interleaved-maps.json]
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
  readonly bytes?: number;
  readonly done?: number;
  readonly doneOf16More?: number;
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

/** What the mbarrier was told of: a phase that expects as much ends, and one that expects 16 more does not. */
const countedOf = ({ bytes, done, doneOf16More }: Line): number | undefined =>
  done === 1 && doneOf16More === 0 ? bytes : undefined;

function boxOf(line: Line): ProbedBox {
  if (line.error !== undefined) {
    if (!line.error.endsWith('cudaErrorIllegalInstruction')) throw new Error(`${line.i}: ${line.error}`);
    return { at: line.at, stops: true };
  }
  if (line.got === undefined) throw new Error(`${line.i}: neither copied nor refused`);
  const counted = countedOf(line);
  return { at: line.at, got: line.got, ...(counted !== undefined && { counted }) };
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

/** `box2 at box1=16`: the map that all values of a sweep share; its line has it without what stands behind `at`. */
function sweptMap(line: Line): ProbedMap {
  const map = mapOf(line);
  const [, fixed = ''] = line.sweep!.split(' at ');
  const { boxDim, elementStrides } = map;
  if (fixed === 'swizzle 32B') return { ...map, swizzle: 1 };
  const [, step] = /^es(\d)/.exec(fixed) ?? [];
  const value = Number(fixed.split('=').at(-1));
  if (step !== undefined)
    return {
      ...map,
      boxDim: [boxDim[0]! * 4, 32, ...boxDim.slice(2)],
      elementStrides: elementStrides.with(Number(step), value),
    };
  const boxes = [...fixed.matchAll(/box(\d)/g)].map(([, axis]) => Number(axis));
  return { ...map, boxDim: boxDim.map((size, axis) => (boxes.includes(axis) ? value : size)) };
}

const FIELDS: Readonly<Record<string, Sweep[0]>> = {
  ...{ box: 'boxDim', dim: 'globalDim', es: 'elementStrides', str: 'globalStridesBytes' },
  ...{ rank: 'axes', address: 'startBytes', swizzle: 'swizzle', fill: 'fill' },
};

function sweepOf({ sweep, il, from, to, taken }: Line): Sweep {
  const [, name, axis = '0'] = /^([a-z]+)(\d)?/.exec(sweep!)!;
  const inSlices = name === 'str' && !sweep!.endsWith('in bytes') ? il || 1 : 1;
  return [FIELDS[name!]!, Number(axis), name === 'address' ? 16 : inSlices, from!, to!, taken!];
}

const OPERATIONS: Readonly<Record<string, ProbedCopies['operation']>> = { L: 'load', S: 'store', A: 'add' };

const probed = lines.filter(({ i }) => i >= 0);
const copies = grouped(probed, (line) => ({
  operation: OPERATIONS[line.op]!,
  ...mapOf(line),
})).map(([map, own]): ProbedCopies => {
  const isRefused = own.some(({ encode }) => encode !== undefined);
  return isRefused ? { ...map, isRefused, boxes: [] } : { ...map, boxes: own.map(boxOf) };
});
const sweeps = grouped(
  lines.filter(({ sweep }) => sweep !== undefined),
  sweptMap,
).map(([map, own]) => ({ ...map, taken: own.map(sweepOf) }));

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
