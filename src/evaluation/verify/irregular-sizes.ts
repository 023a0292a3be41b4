import { evaluateExpression, namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { KernelFile } from '../../core/kernel.ts';
import type { Scope } from '../../core/plan/scope.ts';

/** Sizes that are looked at one by one, and up to which powers of two are. */
const LOOKED_AT = { each: 2 ** 14, most: 2 ** 22 } as const;

/** An expression falls at so few of the sizes at most where it rises otherwise. */
const RARELY = LOOKED_AT.each / 100;

/** Of one expression and dimension: sizes at which it falls. */
const MOST_FALLS = 2;

/** How far beyond the last size at which an expression grows: the next one, and a little more. */
const FURTHER = 1 / 16;

/**
 * Sizes that say where a kernel's launches are unlike their neighbours, from the expressions of kernel.json alone: beyond the size from which a grid
 * grows no more, as `min(ceilDiv(M, 32), 65535)` does, so that the code has to do the rest; and where an expression falls, though it hardly ever
 * does, as `ceilDiv(N, 1024) - (N % 9973 == 1234)`.
 *
 * @param scope names and values of the timed launch.
 * @param sizes names of dimensions that may have any size.
 */
export function irregularSizes(kernel: Pick<KernelFile, 'steps'>, scope: Scope, sizes: readonly string[]): number[] {
  const expressions = new Set(kernel.steps.flatMap(expressionsOf).filter((one) => typeof one === 'string'));
  const found = [...expressions].flatMap((expression) =>
    namesInExpression(expression)
      .filter((name) => sizes.includes(name))
      .flatMap((name) => {
        const at = (size: number): number => valueAt(expression, { ...scope, [name]: size });
        return [...endsOf(at), ...fallsOf(at)];
      }),
  );
  return [...new Set(found)];
}

const expressionsOf = (step: KernelFile['steps'][number]): Expression[] =>
  'function' in step
    ? [...step.grid, ...step.block, ...step.arguments.flatMap((one) => ('scalar' in one ? [one.scalar] : []))]
    : [];

/** NaN where the expression has no value, which is reported elsewhere. */
function valueAt(expression: Expression, scope: Scope): number {
  try {
    return evaluateExpression(expression, scope);
  } catch {
    return Number.NaN;
  }
}

/** Just beyond the size up to which it grows, if there is one. */
function endsOf(at: (size: number) => number): number[] {
  const last = at(LOOKED_AT.most);
  if (!(at(1) < last) || at(LOOKED_AT.most / 2) !== last) return [];
  let [growing, ended] = [1, LOOKED_AT.most / 2];
  while (growing + 1 < ended) {
    const middle = Math.floor((growing + ended) / 2);
    if (at(middle) === last) ended = middle;
    else growing = middle;
  }
  const beyond = firstBeyond(at, ended);
  return [beyond, beyond + Math.ceil(beyond * FURTHER)];
}

/** A bound that rounds up is reached before it is exceeded: as many more sizes as the last step before it had. */
function firstBeyond(at: (size: number) => number, ended: number): number {
  let step = 1;
  while (step < ended && at(ended - step) === at(ended - 1)) step += 1;
  return ended + step - 1;
}

function fallsOf(at: (size: number) => number): number[] {
  const falls: number[] = [];
  let [before, rises] = [at(1), 0];
  for (let size = 2; size <= LOOKED_AT.each; size++) {
    const value = at(size);
    if (value < before) falls.push(size);
    if (value > before) rises += 1;
    if (falls.length > RARELY) return [];
    before = value;
  }
  return rises > falls.length ? falls.slice(0, MOST_FALLS) : [];
}
