import { WarpsmithError } from '../errors.ts';
import { suggestName } from '../nearest-name.ts';
import type { DimensionDeclaration, Dimensions, ProblemFile, Workload } from '../problem.ts';
import { assignments } from '../values.ts';
import { completeShape, defaultOf } from './dimensions.ts';

/**
 * The workload that a user named: one of problem.json's, or a list of dimensions such as `B=1,H=8,S=512,D=64`. A list that
 * equals a declared workload gets its name, others a canonical one. Caches are hot unless declared otherwise.
 *
 * @throws WarpsmithError `unknown-workload`, `workload-syntax`, or as `completeShape`.
 */
export function resolveWorkload(problem: ProblemFile, text: string): Workload {
  const wanted = text.trim();
  const declared = problem.workloads.find((workload) => workload.name === wanted);
  if (declared) return toWorkload(declared);
  if (!wanted.includes('=')) throw unknownWorkload(problem, wanted);
  const dimensions = completeShape(problem, parseDimensionList(problem, wanted));
  return workloadOf(problem, dimensions);
}

/** The name of complete dimensions: the declared one if problem.json declares exactly these, otherwise a canonical one. */
export function workloadOf(problem: ProblemFile, dimensions: Dimensions): Workload {
  const same = problem.workloads.find((workload) =>
    Object.keys(problem.dimensions).every((name) => workload.dimensions[name] === dimensions[name]),
  );
  return same ? toWorkload(same) : { name: canonicalName(problem, dimensions), dimensions, cache: 'hot' };
}

/** `b1h8s512d64`, and `b1h8s512d64-causal` where a 0/1 dimension `causal` is 1. */
function canonicalName(problem: ProblemFile, dimensions: Dimensions): string {
  const entries = Object.entries(problem.dimensions);
  const sizes = entries
    .filter(([name, declaration]) => !isFlag(declaration) && !follows(name, declaration, dimensions))
    .map(([name]) => `${name.toLowerCase()}${dimensions[name]}`);
  const flags = entries
    .filter(([name, declaration]) => isFlag(declaration) && dimensions[name] === 1)
    .map(([name]) => name.toLowerCase());
  return [sizes.join(''), ...flags].filter((part) => part !== '').join('-') || 'default';
}

/** A dimension that is what follows from those before it: `Skv`, where it is `S`. */
const follows = (name: string, declaration: DimensionDeclaration, dimensions: Dimensions): boolean =>
  typeof declaration.default === 'string' && defaultOf(name, declaration, dimensions) === dimensions[name];

/** A dimension that only says yes or no. */
const isFlag = ({ values, minimum, maximum }: DimensionDeclaration): boolean =>
  values ? values.every((value) => value === 0 || value === 1) : minimum === 0 && maximum === 1;

const toWorkload = (declared: ProblemFile['workloads'][number]): Workload => ({
  name: declared.name,
  dimensions: declared.dimensions,
  cache: declared.cache ?? 'hot',
});

function parseDimensionList(problem: ProblemFile, text: string): Record<string, number> {
  // A map: `values.__proto__ = 3` of an object would set nothing.
  const values = new Map<string, number>();
  for (const item of text.split(',')) {
    const match = /^\s*([A-Za-z_]\w*)\s*=\s*(-?\d+)\s*$/.exec(item);
    if (!match) throw listError(problem, `\`${item.trim()}\` is not a dimension with an integer value.`, item.trim());
    const name = match[1]!;
    if (values.has(name)) throw listError(problem, `Dimension \`${name}\` is given twice.`, text);
    values.set(name, Number(match[2]));
  }
  return Object.fromEntries(values);
}

function listError(problem: ProblemFile, message: string, received: string): Error {
  const example = assignments(problem.workloads[0]!.dimensions);
  return new WarpsmithError({
    code: 'workload-syntax',
    message,
    received,
    expected: 'each dimension once, as name=integer, separated by commas',
    hint: `For example: ${example.join(',')}`,
  });
}

function unknownWorkload(problem: ProblemFile, name: string): Error {
  const names = problem.workloads.map((workload) => workload.name);
  return new WarpsmithError({
    code: 'unknown-workload',
    message: `${problem.name} has no workload \`${name}\`.`,
    received: name,
    expected: `one of ${names.join(', ')}; or ${Object.keys(problem.dimensions)
      .map((dimension) => `${dimension}=…`)
      .join(',')}`,
    hint: suggestName(name, names, 'Workloads'),
  });
}
