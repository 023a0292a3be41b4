import { multiIndexOf } from '../launches/layout.ts';

/**
 * Where a set of elements lies, in words: `all at columns ≥ 16`, `97 % of those at every second row from row 1`,
 * `all above the diagonal (column > row)`. The region that is named always holds the whole set; of several, the one it fills best.
 *
 * @param shape outermost first.
 * @param marks one byte an element, row-major; not 0: in the set.
 * @returns undefined for sets of none, one or all elements, whose place an index and a count tell.
 */
export function describeWhere(shape: readonly number[], marks: Uint8Array): string | undefined {
  const count = countMarks(marks);
  if (count < 2 || count === marks.length) return undefined;
  const regions = [productRegion(shape, marks), ...diagonalRegions(shape, marks), ...runRegions(shape, marks)];
  const best = regions.reduce((a, b) => (b.size < a.size ? b : a));
  const share = count / best.size;
  if (best.words === '') return `${percent(share)} of all elements, scattered`;
  return share === 1 ? `all ${best.words}` : `${percent(share)} of those ${best.words}`;
}

/** Elements that a few words name. */
interface Region {
  readonly size: number;
  readonly words: string;
}

function countMarks(marks: Uint8Array): number {
  let count = 0;
  for (const mark of marks) if (mark !== 0) count++;
  return count;
}

function percent(share: number): string {
  const value = 100 * share;
  return value < 1 ? `${value.toPrecision(1)} %` : `${Math.min(99, Math.round(value))} %`;
}

/** The smallest product of sets of indices, one set for each axis. */
function productRegion(shape: readonly number[], marks: Uint8Array): Region {
  const used = shape.map((extent) => new Uint8Array(extent));
  const index = new Array<number>(shape.length).fill(0);
  for (const mark of marks) {
    if (mark !== 0) for (let axis = 0; axis < shape.length; axis++) used[axis]![index[axis]!] = 1;
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis]! === shape[axis]; axis--) index[axis] = 0;
  }
  const words = used.map((indices, axis) => describeIndices(nameOfAxis(axis, shape.length), indices));
  const size = used.reduce((product, indices) => product * countMarks(indices), 1);
  const given = words.filter((text) => text !== undefined);
  return { size, words: given.length === 0 ? '' : `at ${given.join(', ')}` };
}

/** Singular and plural: matrices have rows and columns, outer axes have numbers. */
function nameOfAxis(axis: number, rank: number): readonly [one: string, several: string] {
  if (rank === 1) return ['index', 'indices'];
  if (axis === rank - 1) return ['column', 'columns'];
  if (axis === rank - 2) return ['row', 'rows'];
  return [`axis ${axis} index`, `axis ${axis} indices`];
}

/** Indices that are listed one by one. */
const MOST_LISTED = 5;

/** A set of indices of one axis; undefined if it holds all of them. */
function describeIndices([one, several]: readonly [string, string], used: Uint8Array): string | undefined {
  const [count, first, last] = [countMarks(used), used.indexOf(1), used.lastIndexOf(1)];
  const extent = used.length;
  if (count === extent) return undefined;
  if (count === 1) return `${one} ${first}${first === extent - 1 ? ' (the last)' : ''}`;
  if (last - first + 1 === count) return describeRange(several, first, last, extent);
  return (
    describeStep([one, several], used, count) ??
    describePeriod([one, several], used) ??
    (count <= MOST_LISTED
      ? `${several} ${indicesOf(used).join(', ')}`
      : `${count} of ${extent} ${several}, from ${first} to ${last}`)
  );
}

/** For a few of them. */
const indicesOf = (used: Uint8Array): number[] => Array.from(used.keys()).filter((index) => used[index] !== 0);

/** Sizes that tiles have. */
const TILES = [256, 128, 64, 32, 16, 8] as const;

function describeRange(several: string, first: number, last: number, extent: number): string {
  if (last < extent - 1) return first === 0 ? `${several} < ${last + 1}` : `${several} ${first} to ${last}`;
  const tile = TILES.find((size) => first % size === 0 && extent - first <= size);
  const note = tile === undefined ? '' : `, the last tile of ${tile}`;
  return `${several} ≥ ${first}${note}`;
}

const ORDINALS = ['', '', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth'] as const;

/** `every second row from row 1`. */
function describeStep([one, _]: readonly [string, string], used: Uint8Array, count: number): string | undefined {
  const first = used.indexOf(1);
  const step = used.indexOf(1, first + 1) - first;
  if (first >= step || count < 3 || count !== Math.ceil((used.length - first) / step)) return undefined;
  for (let index = first; index < used.length; index += step) if (used[index] === 0) return undefined;
  return `every ${ORDINALS[step] ?? `${step}th`} ${one} from ${one} ${first}`;
}

/** `columns 16 to 31 of every 32`: the same part of each period. */
function describePeriod([_, several]: readonly [string, string], used: Uint8Array): string | undefined {
  const period = periodOf(used);
  if (period === undefined) return undefined;
  const part = used.subarray(0, period);
  const [count, first, last] = [countMarks(part), part.indexOf(1), part.lastIndexOf(1)];
  const isRun = last - first + 1 === count;
  if (!isRun && count > MOST_LISTED) return undefined;
  const words = !isRun ? indicesOf(part).join(', ') : first === last ? `${first}` : `${first} to ${last}`;
  return `${several} ${words} of every ${period}`;
}

/** Up to half of this many indices, periods are looked for. */
const MOST_SEARCHED = 2 ** 20;

/**
 * The smallest period that comes at least twice; `undefined` if there is none. In linear time, because a kernel chooses where it is
 * wrong: the longest proper prefix of the indices that is also their suffix begins one period later.
 */
function periodOf(used: Uint8Array): number | undefined {
  const searched = used.subarray(0, MOST_SEARCHED);
  const borders = new Int32Array(searched.length);
  for (let i = 1, length = 0; i < searched.length; i++) {
    while (length > 0 && searched[i] !== searched[length]) length = borders[length - 1]!;
    if (searched[i] === searched[length]) length++;
    borders[i] = length;
  }
  const period = searched.length - (borders.at(-1) ?? 0);
  if (period > searched.length / 2) return undefined;
  for (let i = period; i < used.length; i++) if (used[i] !== used[i - period]) return undefined;
  return period;
}

const DIAGONALS: readonly (readonly [words: string, holds: (row: number, column: number) => boolean])[] = [
  ['on the diagonal (column = row)', (row, column) => column === row],
  ['above the diagonal (column > row)', (row, column) => column > row],
  ['below the diagonal (column < row)', (row, column) => column < row],
  ['on and above the diagonal (column ≥ row)', (row, column) => column >= row],
  ['on and below the diagonal (column ≤ row)', (row, column) => column <= row],
];

/** Triangles of the matrices that the last two axes make, as a causal mask cuts them. */
function diagonalRegions(shape: readonly number[], marks: Uint8Array): Region[] {
  if (shape.length < 2) return [];
  const [rows, columns] = shape.slice(-2) as [number, number];
  const matrices = marks.length / (rows * columns);
  return DIAGONALS.flatMap(([words, holds]) => {
    let size = 0;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) if (holds(row, column)) size++;
    for (let i = 0; i < marks.length; i++) {
      if (marks[i] !== 0 && !holds(Math.floor(i / columns) % rows, i % columns)) return [];
    }
    return [{ size: size * matrices, words }];
  });
}

/** All elements before or behind one in memory order, which cuts across the axes where a grid or a count is too short. */
function runRegions(shape: readonly number[], marks: Uint8Array): Region[] {
  if (shape.length < 2) return [];
  const [first, last] = [marks.findIndex((mark) => mark !== 0), marks.findLastIndex((mark) => mark !== 0)];
  const at = (element: number): string => `[${multiIndexOf(shape, element).join(', ')}]`;
  return [
    { size: marks.length - first, words: `from ${at(first)} to the end, in row-major order` },
    { size: last + 1, words: `from the beginning to ${at(last)}, in row-major order` },
    { size: last - first + 1, words: `from ${at(first)} to ${at(last)}, in row-major order` },
  ];
}
