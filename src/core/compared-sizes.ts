import { z } from 'zod';
import { namesInExpression } from './expressions/evaluate.ts';
import type { Dimensions, ProblemFile } from './problem.ts';
import { count as elementCount, identifierSchema } from './schemas/common-schema.ts';

const range = z.strictObject({
  least: z.int(),
  most: z.int(),
  values: z
    .array(z.int())
    .describe('Every compared value, if problem.json lists the values of the dimension.')
    .optional(),
});
type ComparedRange = z.infer<typeof range>;

export const comparedSizesSchema = z
  .strictObject({
    dimensions: z.record(identifierSchema, range),
    elements: z.record(z.string(), elementCount).describe('The most elements of each input and output.'),
  })
  .meta({ id: 'ComparedSizes', description: 'Sizes at which results were compared with the reference.' });

/** Sizes at which results were compared with the reference, dimension by dimension and tensor by tensor. */
export type ComparedSizes = z.infer<typeof comparedSizesSchema>;

/** A tensor's element count. */
interface Counted {
  readonly name: string;
  readonly shape: readonly number[];
}

/** The sizes of one shape. @param buffers its inputs and outputs. */
export function sizesOfShape(
  problem: Pick<ProblemFile, 'dimensions'>,
  dimensions: Dimensions,
  buffers: readonly Counted[],
): ComparedSizes {
  const rangeOf = (name: string, value: number): ComparedRange => ({
    least: value,
    most: value,
    values: problem.dimensions[name]?.values ? [value] : undefined,
  });
  return {
    dimensions: Object.fromEntries(Object.entries(dimensions).map(([name, value]) => [name, rangeOf(name, value)])),
    elements: Object.fromEntries(
      buffers.map(({ name, shape }) => [name, shape.reduce((product, extent) => product * extent, 1)]),
    ),
  };
}

/** What was compared in one verification or the other. */
export function unionOfSizes(a: ComparedSizes, b: ComparedSizes): ComparedSizes {
  const names = Object.keys({ ...a.dimensions, ...b.dimensions });
  const counted = Object.keys({ ...a.elements, ...b.elements });
  return {
    dimensions: Object.fromEntries(names.map((name) => [name, unionOfRanges(a.dimensions[name], b.dimensions[name])])),
    elements: Object.fromEntries(counted.map((name) => [name, Math.max(a.elements[name] ?? 0, b.elements[name] ?? 0)])),
  };
}

function unionOfRanges(a: ComparedRange | undefined, b: ComparedRange | undefined): ComparedRange {
  if (!a || !b) return (a ?? b)!;
  const values = [...new Set([...(a.values ?? []), ...(b.values ?? [])])].sort((x, y) => x - y);
  const [least, most] = [Math.min(a.least, b.least), Math.max(a.most, b.most)];
  return { least, most, values: values.length > 0 ? values : undefined };
}

/** A condition on a call's dimensions that holds where results were compared. */
export interface SizeCondition {
  /** An expression of dimensions. */
  readonly condition: string;
  /** What was compared: `R from 1 to 65,543`. */
  readonly compared: string;
}

/** The conditions that a call's dimensions meet if each dimension and each tensor is of a compared size. */
export function conditionsOf(
  problem: Pick<ProblemFile, 'dimensions' | 'inputs' | 'outputs'>,
  { dimensions, elements }: ComparedSizes,
): SizeCondition[] {
  const ranges = Object.keys(problem.dimensions)
    .filter((name) => dimensions[name] !== undefined)
    .map((name) => ({
      condition: conditionOfRange(name, dimensions[name]!),
      compared: `${name} ${rangeText(dimensions[name]!)}`,
    }));
  const counts = tensorsByShape(problem)
    .filter(({ names }) => names.some((name) => elements[name] !== undefined))
    .map(({ names, shape }) => {
      const most = Math.max(...names.map((name) => elements[name] ?? 0));
      return {
        condition: `${shape.map((extent) => `(${extent})`).join(' * ')} <= ${most}`,
        compared: `at most ${count(most)} elements of ${names.join(', ')}`,
      };
    });
  return [...ranges, ...counts];
}

const conditionOfRange = (name: string, { least, most, values }: ComparedRange): string =>
  values ? values.map((value) => `${name} == ${value}`).join(' || ') : `${name} >= ${least} && ${name} <= ${most}`;

/**
 * Tensors that are always there and whose element count is more than one dimension's; tensors of one shape share a
 * condition.
 */
function tensorsByShape(problem: Pick<ProblemFile, 'inputs' | 'outputs'>) {
  const all = Object.entries({ ...problem.inputs, ...problem.outputs });
  const several = all.filter(
    ([, { shape, when }]) =>
      when === undefined && new Set(shape.flatMap((extent) => namesInExpression(extent))).size > 1,
  );
  return [...Map.groupBy(several, ([, { shape }]) => JSON.stringify(shape)).values()].map((same) => ({
    names: same.map(([name]) => name),
    shape: same[0]![1].shape,
  }));
}

/** `R 1 to 65,543, N 1 to 8,192; at most 131,072 elements of X, Y`: for reports. */
export function describeSizes({ dimensions, elements }: ComparedSizes): string {
  const ranges = Object.entries(dimensions).map(([name, range]) => `${name} ${rangeText(range)}`);
  const tensors = Map.groupBy(Object.entries(elements), ([, most]) => most);
  const counts = [...tensors].map(
    ([most, same]) => `${count(most)} elements of ${same.map(([name]) => name).join(', ')}`,
  );
  return `${ranges.join(', ')}; at most ${counts.join(', ')}`;
}

function rangeText({ least, most, values }: ComparedRange): string {
  if (values) return values.join(', ').replace(/, ([^,]+)$/, ' and $1');
  return least === most ? `${count(least)} alone` : `${count(least)} to ${count(most)}`;
}

const count = (value: number): string => value.toLocaleString('en-US');
