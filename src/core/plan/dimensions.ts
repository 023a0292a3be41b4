import { WarpsmithError } from '../errors.ts';
import { evaluateExpression } from '../expressions/evaluate.ts';
import { suggestName } from '../nearest-name.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile } from '../problem.ts';
import { assignments } from '../values.ts';
import { failedLimit } from './limits.ts';

/** The place of dimension values: a file and the JSON path of the object, or neither for a command line. */
export interface DimensionsPlace {
  readonly file?: string;
  readonly path?: string;
}

/**
 * The given values with defaults added, in declared order. Each is declared, an integer and in range.
 *
 * @throws WarpsmithError `unknown-dimension`, `missing-dimension` or `dimension-out-of-range`.
 */
export function completeDimensions(
  declarations: ProblemFile['dimensions'],
  values: Readonly<Record<string, number>>,
  place: DimensionsPlace = {},
): Dimensions {
  const names = Object.keys(declarations);
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(declarations, name)) throw unknownDimension(name, names, place);
  }
  const complete: Record<string, number> = {};
  for (const [name, declaration] of Object.entries(declarations)) {
    const value = Object.hasOwn(values, name) ? values[name] : defaultOf(name, declaration, complete);
    if (value === undefined) throw missingDimension(name, declaration, names, place);
    if (!isAllowed(declaration, value)) throw outOfRange(name, value, declaration, place);
    complete[name] = value;
  }
  return complete;
}

/** The value of a dimension that is left out; `before` are those declared before it. */
export const defaultOf = (
  name: string,
  { default: value }: DimensionDeclaration,
  before: Dimensions,
): number | undefined =>
  value === undefined ? undefined : evaluateExpression(value, before, { path: `dimensions.${name}.default` });

/** Dimensions of which the value is what follows from another one alone: of `"Hkv": { "default": "H" }`, H's. */
export function followersOf(
  declarations: ProblemFile['dimensions'],
  dimensions: Dimensions,
  name: string,
): { readonly following: string[]; readonly others: string[] } {
  const named = Object.keys(declarations).filter((other) => declarations[other]!.default === name);
  return {
    following: named.filter((other) => dimensions[other] === dimensions[name]),
    others: named.filter((other) => dimensions[other] !== dimensions[name]),
  };
}

/**
 * As {@link completeDimensions}, of a shape that also meets the problem's limits.
 *
 * @throws WarpsmithError `shape-outside-limits`; as {@link completeDimensions}.
 */
export function completeShape(
  problem: Pick<ProblemFile, 'dimensions' | 'limits'>,
  values: Readonly<Record<string, number>>,
  place: DimensionsPlace = {},
): Dimensions {
  const dimensions = completeDimensions(problem.dimensions, values, place);
  const failed = failedLimit(problem, dimensions);
  if (failed !== undefined) throw outsideLimits(failed, dimensions, place);
  return dimensions;
}

/** Whether complete dimensions are a shape of the problem: each value allowed, and every limit met. */
export const isShapeOf = (problem: Pick<ProblemFile, 'dimensions' | 'limits'>, dimensions: Dimensions): boolean =>
  Object.entries(problem.dimensions).every(([name, declaration]) => isAllowed(declaration, dimensions[name]!)) &&
  failedLimit(problem, dimensions) === undefined;

/** Whether the declaration allows the value: an integer, at least 1 by default. */
export function isAllowed(declaration: DimensionDeclaration, value: number): boolean {
  if (!Number.isSafeInteger(value)) return false;
  if (declaration.values) return declaration.values.includes(value);
  return value >= (declaration.minimum ?? 1) && value <= (declaration.maximum ?? Number.MAX_SAFE_INTEGER);
}

/** e.g. `an integer from 1 to 4096`, `one of 32, 64`. */
export function describeAllowed(declaration: DimensionDeclaration): string {
  if (declaration.values) return `one of ${declaration.values.join(', ')}`;
  const from = declaration.minimum ?? 1;
  return declaration.maximum === undefined
    ? `an integer of at least ${from}`
    : `an integer from ${from} to ${declaration.maximum}`;
}

const at = (place: DimensionsPlace, name?: string): { file?: string; path?: string } => ({
  file: place.file,
  path: place.path !== undefined ? (name === undefined ? place.path : `${place.path}.${name}`) : undefined,
});

const outsideLimits = (failed: string, dimensions: Dimensions, place: DimensionsPlace): Error =>
  new WarpsmithError({
    code: 'shape-outside-limits',
    message: `The problem's limits leave this shape out: ${failed}.`,
    ...at(place),
    received: assignments(dimensions).join(','),
    expected: 'a shape that meets every one of the `limits` of problem.json',
    hint: 'Change the shape, or the limit where the operation is meant to take it.',
  });

const unknownDimension = (name: string, names: readonly string[], place: DimensionsPlace): Error =>
  new WarpsmithError({
    code: 'unknown-dimension',
    message: `The problem has no dimension \`${name}\`.`,
    ...at(place, name),
    received: name,
    expected: `one of ${names.join(', ')}`,
    hint: suggestName(name, names, 'Dimensions'),
  });

const missingDimension = (
  name: string,
  declaration: DimensionDeclaration,
  names: readonly string[],
  place: DimensionsPlace,
): Error =>
  new WarpsmithError({
    code: 'missing-dimension',
    message: `Dimension \`${name}\` (${declaration.description}) has no value and no default.`,
    ...at(place),
    received: 'nothing',
    expected: `${name} = ${describeAllowed(declaration)}`,
    hint: `Give every dimension: ${names.map((dimension) => `${dimension}=…`).join(',')}`,
  });

const outOfRange = (name: string, value: number, declaration: DimensionDeclaration, place: DimensionsPlace): Error =>
  new WarpsmithError({
    code: 'dimension-out-of-range',
    message: `Dimension \`${name}\` can't be ${value}.`,
    ...at(place, name),
    received: String(value),
    expected: describeAllowed(declaration),
    hint: `${name}: ${declaration.description}.`,
  });
