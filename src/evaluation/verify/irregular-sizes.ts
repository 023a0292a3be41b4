import { evaluateExpression, namesInExpression } from '../../core/expressions/evaluate.ts';
import { parseExpression } from '../../core/expressions/parser.ts';
import { childrenOf, type Expression, type ExpressionNode } from '../../core/expressions/syntax-tree.ts';
import type { KernelFile } from '../../core/kernel.ts';
import { expressionsOfLaunch, launchesOf } from '../../core/plan/declared-steps.ts';
import type { Scope } from '../../core/plan/scope.ts';
import { numbersIn } from './threshold-shapes.ts';

/** Sizes that are looked at one by one, and the largest. */
const LOOKED_AT = { each: 2 ** 14, most: 2 ** 22 } as const;

/** At how few of those sizes an expression may fall that counts as one that rises. */
const RARELY = LOOKED_AT.each / 100;

/** Of one expression and dimension: sizes at which it falls, and before which it leaps. */
const MOST_FALLS = 2;

/** A second size beyond the end of a grid: larger by this share, so that more is left over. */
const FURTHER = 1 / 16;

/** A size of one dimension. */
export interface IrregularSize {
  readonly name: string;
  readonly size: number;
}

/**
 * Sizes at which a kernel is not launched as at the sizes beside them, by the expressions of kernel.json. First, the sizes from which a grid stops
 * growing, as with `min(ceilDiv(M, 32), 65535)`: there the code has to do the rest. Second, sizes at which an expression is smaller than at the
 * size before, if there are few, as with `ceilDiv(N, 1024) - (N % 9973 == 1234)`, and the last ones before it grows by more than it usually does. Third, sizes from which an expression is another than the
 * quotient that it is at small ones, as with `ceil(N * 0.0156249)`.
 *
 * @param scope names and values of the timed launch.
 * @param sizes names of dimensions that may have any size.
 */
export function irregularSizes(
  kernel: Pick<KernelFile, 'steps'>,
  scope: Scope,
  sizes: readonly string[],
): IrregularSize[] {
  return expressionsIn(kernel).flatMap((expression) =>
    namesInExpression(expression)
      .filter((name) => sizes.includes(name))
      .flatMap((name) => {
        const at = (size: number): number => valueAt(expression, { ...scope, [name]: size });
        // Every candidate comes here: the sizes are gone through only where an expression can fall at all.
        const ends = endsOf(at);
        const strays = ends.length > 0 ? [] : straysOf(at);
        const unusual = mayFall(parseExpression(expression)) ? unusualStepsOf(at) : [];
        return [...ends, ...strays, ...unusual].map((size) => ({ name, size }));
      }),
  );
}

/** The size of all other dimensions, while an expression is looked at along one. */
const BESIDE = 96;

/** How many shapes of an expression and dimension are taken in which it has a rare value. */
const MOST_RARE = 2;

/**
 * Shapes in which an expression of kernel.json has a rare value: it has one value at nearly all sizes, and another one at these, as
 * `1 + floor((M * N + 3 * M) % 509 / 508)`. Each shape has a size for every dimension that may have any. Scalar arguments are among the expressions.
 *
 * @param scope as for {@link irregularSizes}
 */
export function rareShapes(
  kernel: Pick<KernelFile, 'steps'>,
  scope: Scope,
  sizes: readonly string[],
): Record<string, number>[] {
  const beside = Object.fromEntries(sizes.map((name) => [name, BESIDE]));
  return expressionsIn(kernel)
    .filter((one) => mayFall(parseExpression(one)))
    .flatMap((expression) =>
      namesInExpression(expression)
        .filter((name) => sizes.includes(name))
        .flatMap((name) => {
          const at = (size: number): number => valueAt(expression, { ...scope, ...beside, [name]: size });
          return rareOf(at).map((size) => ({ ...beside, [name]: size }));
        }),
    );
}

/** Sizes beside the numbers of expressions that may fall, as in `N - (N % 50257 == 0)`, and a second multiple: how many of them are taken, and the least. */
const NUMBERS = { most: 6, least: 32 } as const;

/** Numbers that such expressions name, and twice these. Small ones and powers of two are in every expression. */
export function numbersOfExpressions(kernel: Pick<KernelFile, 'steps'>): number[] {
  const numbers = expressionsIn(kernel)
    .map((one) => parseExpression(one))
    .filter(mayFall)
    .flatMap(numbersIn)
    .filter((number) => number >= NUMBERS.least && number <= LOOKED_AT.most && Math.log2(number) % 1 !== 0);
  return [...new Set(numbers.flatMap((number) => [number, 2 * number]))].slice(0, NUMBERS.most);
}

/** Those of its launches, arguments among them, each once. */
const expressionsIn = ({ steps }: Pick<KernelFile, 'steps'>): string[] => [
  ...new Set(
    launchesOf(steps)
      .flatMap(expressionsOfLaunch)
      .filter((one) => typeof one === 'string'),
  ),
];

/** The first sizes at which an expression has another value than at nearly all; none if it changes more often. */
function rareOf(at: (size: number) => number): number[] {
  const values = Array.from({ length: LOOKED_AT.each }, (_, i) => at(i + 1));
  const usual = values.toSorted((a, b) => a - b)[values.length / 2];
  const rare = values.flatMap((value, i) => (value === usual ? [] : [i + 1]));
  // The first and the last sizes may be a bound's.
  return rare.length <= RARELY ? rare.filter((size) => values[size] === usual && size > 1).slice(0, MOST_RARE) : [];
}

/** NaN where the expression has no value, which is reported elsewhere. */
export function valueAt(expression: Expression, scope: Scope): number {
  try {
    return evaluateExpression(expression, scope);
  } catch {
    return Number.NaN;
  }
}

/** The first size beyond the end, and one further on; none if the expression has no end. */
function endsOf(at: (size: number) => number): number[] {
  const [least, most] = [at(1), at(LOOKED_AT.most)];
  if (!(least < most) || at(LOOKED_AT.most / 2) !== most) return [];
  const ended = firstWith(at, most, LOOKED_AT.most / 2);
  // A quotient that is rounded up reaches its bound before it exceeds it: by as many sizes as the value before had.
  const beyond = ended + (ended - firstWith(at, at(ended - 1), ended - 1));
  return [beyond, beyond + Math.ceil(beyond * FURTHER)];
}

/** So many whole steps of a quotient show what it is. */
const STEPS_SEEN = 16;

/**
 * The first size one beyond a whole step, of those looked at, at which an expression leaves the quotient that it follows at small sizes, and one
 * further on; none if it follows none, or always.
 */
function straysOf(at: (size: number) => number): number[] {
  const first = at(1);
  const step = firstOther(at, first);
  if (step === undefined) return [];
  const rise = at(step + 1) - first;
  const strays = (steps: number): boolean =>
    at(steps * step) !== first + (steps - 1) * rise || at(steps * step + 1) !== first + steps * rise;
  for (let steps = 1; steps <= STEPS_SEEN; steps++) if (strays(steps)) return [];
  let [follows, strayed] = [STEPS_SEEN, 2 * STEPS_SEEN];
  while (strayed * step < LOOKED_AT.most && !strays(strayed)) [follows, strayed] = [strayed, 2 * strayed];
  if (strayed * step >= LOOKED_AT.most) return [];
  const steps = leastWhere(strays, follows, strayed);
  const size = steps * step + 1;
  return [size, size + Math.ceil((steps * FURTHER) / 2) * step];
}

/** The last size before an expression changes from its value at 1; undefined if it does not at the sizes looked at one by one. */
function firstOther(at: (size: number) => number, first: number): number | undefined {
  const isOther = (size: number): boolean => at(size) !== first;
  for (let size = 2; size <= LOOKED_AT.each; size *= 2)
    if (isOther(size)) return leastWhere(isOther, size / 2, size) - 1;
  return undefined;
}

/** The least size with the value that `known` has, of an expression that does not fall. */
const firstWith = (at: (size: number) => number, value: number, known: number): number =>
  leastWhere((size) => at(size) === value, 0, known);

/** The least number that has a property, which `below` has not, `known` has, and all above it have. */
export function leastWhere(holds: (number: number) => boolean, below: number, known: number): number {
  while (below + 1 < known) {
    const middle = Math.floor((below + known) / 2);
    if (holds(middle)) known = middle;
    else below = middle;
  }
  return known;
}

const RISING_OPERATORS: ReadonlySet<string> = new Set(['+', '*', '/', '<<', '>>']);
const RISING_FUNCTIONS: ReadonlySet<string> = new Set(['ceilDiv', 'ceil', 'floor', 'min', 'max']);

/**
 * Whether it has parts that may fall where a size rises; a quotient with the size below falls everywhere, and is no matter, unless the size is above, too: as many slices of K as have
 * `ceilDiv(K, floor(K / 512))` terms, rounded up, may be one less for a larger K.
 */
function mayFall(node: ExpressionNode): boolean {
  if (node.kind === 'unary' || node.kind === 'conditional') return true;
  const [above, below] = quotientOf(node);
  if (above && below && namesOf(below).some((name) => namesOf(above).includes(name))) return true;
  if (node.kind === 'binary' && !RISING_OPERATORS.has(node.operator)) return true;
  if (node.kind === 'call' && !RISING_FUNCTIONS.has(node.functionName)) return true;
  return childrenOf(node).some(mayFall);
}

function quotientOf(node: ExpressionNode): readonly ExpressionNode[] {
  if (node.kind === 'binary' && node.operator === '/') return [node.left, node.right];
  return node.kind === 'call' && node.functionName === 'ceilDiv' ? node.arguments : [];
}

const namesOf = (node: ExpressionNode): string[] =>
  node.kind === 'name' ? [node.name] : childrenOf(node).flatMap(namesOf);

/** Sizes at which an expression that rises falls, and those before it rises by more than it usually does; none where that is no rarity. */
function unusualStepsOf(at: (size: number) => number): number[] {
  const [falls, rises]: [number[], Step[]] = [[], []];
  let before = at(1);
  for (let size = 2; size <= LOOKED_AT.each; size++) {
    const value = at(size);
    if (value < before) falls.push(size);
    if (value > before) rises.push({ size, by: value - before });
    if (falls.length > RARELY) return [];
    before = value;
  }
  if (rises.length <= falls.length) return [];
  const usual = rises.toSorted((a, b) => a.by - b.by)[Math.floor(rises.length / 2)]!.by;
  const leaps = rises.filter(({ by }) => by > usual).map(({ size }) => size - 1);
  return [
    ...falls.slice(0, MOST_FALLS),
    ...(leaps.length <= Math.min(RARELY, rises.length / 4) ? leaps.slice(0, MOST_FALLS) : []),
  ];
}

/** A size at which an expression is greater than at the size before. */
interface Step {
  readonly size: number;
  readonly by: number;
}
