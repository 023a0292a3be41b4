import { ASKED_DTYPE, cppTypeOf, type DType, sizeOfDType } from './dtype.ts';
import { WarpsmithError } from './errors.ts';
import { evaluateExpression } from './expressions/evaluate.ts';
import type { Expression } from './expressions/syntax-tree.ts';
import type { KernelFile, KernelSource } from './kernel.ts';
import type { ProblemFile, ProblemSource } from './problem.ts';

/** In expressions of files that take several dtypes: the size of one element of `T`. */
const BYTES = /\bdtype\.bytes\b/g;
const DTYPE_KEYS: ReadonlySet<string> = new Set(['dtype', 'storage', 'unit']);

/** The dtypes that a problem takes; empty if each buffer has a fixed one. */
export const dtypesOf = ({ dtypes = {} }: ProblemSource): DType[] => Object.keys(dtypes) as DType[];

/**
 * The problem for one dtype: replaces `T` and `dtype.bytes`, and overrides the problem's fields with those of the dtype.
 * Returns problems without dtypes unchanged.
 *
 * @throws WarpsmithError `unknown-dtype`.
 */
export function bindProblem(source: ProblemSource, asked: DType | undefined, file: string): ProblemFile {
  const { dtypes, ...rest } = source;
  const known = dtypesOf(source);
  if (asked !== undefined && !known.includes(asked)) throw unknownDType(source.name, asked, known, file);
  const dtype = asked ?? known[0];
  const variant = (dtype !== undefined && dtypes?.[dtype]) || {};
  const written = { ...rest, ...variant, generatorSets: mergedSets(rest, variant) };
  const bound = (dtype === undefined ? written : bindDeep(written, dtype)) as ProblemFile;
  if (dtype === undefined) {
    refuseUnbound(source, source.name, file);
    return bound;
  }
  return { ...bound, name: dtype === known[0] ? source.name : `${source.name}-${dtype}`, dtype };
}

const mergedSets = (
  { generatorSets }: Pick<ProblemSource, 'generatorSets'>,
  variant: Pick<ProblemSource, 'generatorSets'>,
): ProblemSource['generatorSets'] =>
  generatorSets || variant.generatorSets ? { ...generatorSets, ...variant.generatorSets } : undefined;

/**
 * A kernel for a problem of one dtype: replaces `T` and `dtype.bytes`, evaluates parameter values, and defines the macro
 * `DTYPE` as the element's C++ type. Returns already bound kernels, and kernels of problems without dtypes, unchanged.
 *
 * @throws WarpsmithError for a parameter value that is not a number.
 */
export function bindKernel(source: KernelSource, dtype: DType | undefined, file: string): KernelFile {
  const isBound = dtype === undefined || source.dtype !== undefined;
  const bound = isBound ? source : bindDeep(source, dtype);
  const kernel = { ...bound, ...(bound.parameters && { parameters: numbersOf(bound.parameters, file) }) } as KernelFile;
  if (isBound) {
    refuseUnbound(kernel, kernel.name, file);
    return kernel;
  }
  const flags = [...(source.source.flags ?? []), `-DDTYPE=${cppTypeOf(dtype)}`];
  return { ...kernel, dtype, source: { ...kernel.source, ...(source.source.kind === 'cuda' && { flags }) } };
}

const numbersOf = (parameters: NonNullable<KernelSource['parameters']>, file: string): KernelFile['parameters'] =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => {
      const path = `parameters.${name}`;
      const numberOf = (value: Expression, key: string): number =>
        evaluateExpression(value, {}, { file, path: `${path}.${key}` });
      const { values } = parameter;
      return [
        name,
        {
          ...parameter,
          values: Array.isArray(values) ? values.map((value, i) => numberOf(value, `values[${i}]`)) : values,
          default: numberOf(parameter.default, 'default'),
        },
      ];
    }),
  );

/** `T` stands for nothing in files of a problem that takes one dtype. */
function refuseUnbound(document: unknown, name: string, file: string, path = ''): void {
  if (typeof document !== 'object' || document === null) return;
  for (const [key, value] of Object.entries(document)) {
    const own = Array.isArray(document) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    if (DTYPE_KEYS.has(key) && value === ASKED_DTYPE) throw unbound(name, file, own);
    refuseUnbound(value, name, file, own);
  }
}

const unbound = (name: string, file: string, path: string): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-dtype',
    message: `\`${ASKED_DTYPE}\` stands for no dtype: the problem of ${name} lists none.`,
    file,
    path,
    received: ASKED_DTYPE,
    expected: 'a dtype such as f16',
    hint: 'List the dtypes in `dtypes` of problem.json, or write the one that is meant.',
  });

function bindDeep<Document>(document: Document, dtype: DType): Document {
  const bind = (value: unknown, isDType: boolean): unknown => {
    if (typeof value === 'string') {
      return isDType && value === ASKED_DTYPE ? dtype : value.replaceAll(BYTES, String(sizeOfDType(dtype)));
    }
    if (Array.isArray(value)) return value.map((item) => bind(item, false));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        if (key === 'roundings') return [key, bindValues(item as Record<string, string>)];
        return [key, bind(item, DTYPE_KEYS.has(key))];
      }),
    );
  };
  const bindValues = (values: Record<string, string>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, bind(value, true)]));
  return bind(document, false) as Document;
}

const unknownDType = (name: string, asked: DType, known: readonly DType[], file: string): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-dtype',
    message: known.length === 0 ? `${name} has no dtype to choose.` : `${name} is not there in ${asked}.`,
    file,
    path: 'dtypes',
    received: asked,
    expected: known.length === 0 ? 'no --dtype' : `one of ${known.join(', ')}`,
    hint:
      known.length === 0
        ? 'Each of its buffers has a dtype of its own, which problem.json says.'
        : 'A problem lists the dtypes that it takes, with what differs between them.',
  });
