import { type FunctionBuilder, i32s, type Local } from '../../../virtual-gpu/wasm/function-builder.ts';
import type { ModuleBuilder } from '../../../virtual-gpu/wasm/module-builder.ts';

/** Rows of the result that one call computes, side by side: with as many columns, their sums are eight vectors. */
export const ROWS = 4;
const COLUMNS = 4;
/** So many terms are added before addresses go on, and before it is looked whether any are left. */
const TERMS = 4;
const BYTES = 8;

/** Which row's pair of lanes a row of four is in, and which lane. */
const PAIRS = [0, 1] as const;

/**
 * `products`: four rows times rows. `packed` holds the four rows of `a` element by element (`packed[k][row]`).
 *
 *     products(c0, c1, c2, c3, packed, b, columns, terms, bytesOfARowOfB, continues)
 *
 * Sums begin with 0, or with what `c` holds if `continues`, and have their terms in order.
 */
export function emitProducts(module: ModuleBuilder): void {
  const f = module.defineFunction({ parameters: i32s(10), results: [] });
  const rows = [0, 1, 2, 3] as const;
  const [packed, b, columns, terms, step, continues] = [4, 5, 6, 7, 8, 9] as const;
  const column = f.local('i32');
  const emit = (count: number): void => {
    const sums = PAIRS.map(() => Array.from({ length: count }, () => f.local('v128')));
    const at = Array.from({ length: count }, () => f.local('i32'));
    const eachSum = (use: (row: Local, pair: number, lane: number, column: number) => void): void => {
      for (const [i, row] of rows.entries()) for (let c = 0; c < count; c++) use(row, i >> 1, i & 1, c);
    };
    for (const sum of sums.flat()) f.i32x4(0).set(sum);
    f.get(continues).if(() => {
      eachSum((row, pair, lane, c) => {
        const sum = sums[pair]![c]!;
        f.get(row, sum)
          .memoryLane('v128.load64_lane', c * BYTES, lane)
          .set(sum);
      });
    });
    f.get(b).set(at[0]!);
    for (let c = 1; c < count; c++)
      f.get(at[c - 1]!, step)
        .op('i32.add')
        .set(at[c]!);
    const [from, left] = f.locals('i32', 2);
    f.get(packed).set(from).get(terms).set(left);
    const pairs = f.locals('v128', 2);
    const addTerm = (term: number): void => {
      for (const pair of PAIRS)
        f.get(from)
          .memory('v128.load', (term * ROWS + pair * 2) * BYTES)
          .set(pairs[pair]);
      for (let c = 0; c < count; c++) {
        const value = f
          .get(at[c]!)
          .memory('v128.load64_splat', term * BYTES)
          .pop('v128');
        for (const pair of PAIRS) addProduct(f, sums[pair]![c]!, pairs[pair], value);
      }
    };
    for (const together of [TERMS, 1])
      inSteps(f, left, together, () => {
        for (let term = 0; term < together; term++) addTerm(term);
        for (const address of at) f.advance(address, together * BYTES);
        f.advance(from, together * ROWS * BYTES).advance(left, -together);
      });
    eachSum((row, pair, lane, c) => f.get(row, sums[pair]![c]!).memoryLane('v128.store64_lane', c * BYTES, lane));
    for (const row of rows) f.advance(row, count * BYTES);
    f.get(b, step).i32(count).op('i32.mul', 'i32.add').set(b);
    f.advance(column, -count);
  };
  f.get(columns).set(column);
  inSteps(f, column, COLUMNS, () => emit(COLUMNS));
  inSteps(f, column, 1, () => emit(1));
  module.exportFunction('products', f);
}

/**
 * `combinations`: four sums of rows, each weighted by a row of `a`.
 *
 *     combinations(c0, c1, c2, c3, a0, a1, a2, a3, b, columns, terms, bytesOfARowOfB, continues)
 */
export function emitCombinations(module: ModuleBuilder): void {
  const f = module.defineFunction({ parameters: i32s(13), results: [] });
  const rows = [0, 1, 2, 3] as const;
  const [b, columns, terms, step, continues] = [8, 9, 10, 11, 12] as const;
  const weightsAt = [4, 5, 6, 7] as const;
  const column = f.local('i32');
  /** @param vectors of two columns; none: a single column, in the first lane of one. */
  const emit = (vectors: number): void => {
    const [load, count] = vectors === 0 ? (['v128.load64_splat', 1] as const) : (['v128.load', 2 * vectors] as const);
    const sums = rows.map(() => Array.from({ length: Math.max(1, vectors) }, () => f.local('v128')));
    for (const sum of sums.flat()) f.i32x4(0).set(sum);
    f.get(continues).if(() => {
      for (const row of rows)
        for (const [v, sum] of sums[row]!.entries())
          f.get(row)
            .memory(load, v * 2 * BYTES)
            .set(sum);
    });
    const [from, offset, end] = f.locals('i32', 3);
    f.get(b).set(from).i32(0).set(offset);
    f.get(terms).i32(BYTES).op('i32.mul').set(end);
    f.block(() => {
      f.loop(() => {
        f.get(offset, end).op('i32.ge_u').brIf(1);
        const values = sums[0]!.map((_, v) =>
          f
            .get(from)
            .memory(load, v * 2 * BYTES)
            .pop('v128'),
        );
        for (const row of rows) {
          const weight = f.get(weightsAt[row], offset).op('i32.add').memory('v128.load64_splat', 0).pop('v128');
          for (const [v, sum] of sums[row]!.entries()) addProduct(f, sum, weight, values[v]!);
        }
        f.get(from, step).op('i32.add').set(from);
        f.advance(offset, BYTES).br(0);
      });
    });
    for (const row of rows)
      for (const [v, sum] of sums[row]!.entries()) {
        f.get(row, sum);
        if (vectors === 0) f.memoryLane('v128.store64_lane', 0, 0);
        else f.memory('v128.store', v * 2 * BYTES);
      }
    for (const row of rows) f.advance(row, count * BYTES);
    f.advance(b, count * BYTES).advance(column, -count);
  };
  f.get(columns).set(column);
  inSteps(f, column, COLUMNS, () => emit(COLUMNS / 2));
  inSteps(f, column, 1, () => emit(0));
  module.exportFunction('combinations', f);
}

/** `pack(packed, a0, a1, a2, a3, terms)`: four rows, element by element. */
export function emitPack(module: ModuleBuilder): void {
  const f = module.defineFunction({ parameters: i32s(6), results: [] });
  const [packed, ...rest] = [0, 1, 2, 3, 4, 5] as const;
  const rows = rest.slice(0, ROWS);
  whileLeft(f, 5, () => {
    for (const [i, row] of rows.entries()) {
      f.get(packed, row)
        .memory('i64.load', 0)
        .memory('i64.store', i * BYTES);
      f.advance(row, BYTES);
    }
    f.advance(packed, ROWS * BYTES);
  });
  module.exportFunction('pack', f);
}

/** The product is rounded, and then the sum, as loops of JavaScript do. */
function addProduct(f: FunctionBuilder, sum: Local, left: Local, right: Local): void {
  f.get(sum, left, right).op('f64x2.mul', 'f64x2.add').set(sum);
}

function whileLeft(f: FunctionBuilder, left: Local, body: () => void): void {
  inSteps(f, left, 1, () => {
    body();
    f.advance(left, -1);
  });
}

/** While there are at least `least` left; the body counts them down. */
function inSteps(f: FunctionBuilder, left: Local, least: number, body: () => void): void {
  f.block(() => {
    f.loop(() => {
      f.get(left).i32(least).op('i32.lt_u').brIf(1);
      body();
      f.br(0);
    });
  });
}
