import type { Generator } from '../../../core/problem.ts';
import { alternating, oneHot, permutation, ramp, sparse } from './arrangements.ts';
import { csr } from './csr.ts';
import { constant, indexRange, large, normal, offGrid, positive, uniform, zipf } from './distributions.ts';
import { type Generate, type GeneratorContext, NORMAL } from './generator.ts';
import { npy } from './npy.ts';
import { special } from './special.ts';

const GENERATORS: { readonly [K in Generator['kind']]: Generate<K> } = {
  normal,
  uniform,
  positive,
  large,
  'one-hot': oneHot,
  constant,
  'index-range': indexRange,
  zipf,
  permutation,
  csr,
  npy,
  special: (generator, context) => special(generate(generator.of ?? NORMAL, context), generator, context),
  sparse,
  'off-grid': offGrid,
  alternating,
  ramp,
};

/** Draws an input's elements, row-major and not yet rounded. */
export const generate = (generator: Generator, context: GeneratorContext): Float64Array =>
  (GENERATORS[generator.kind] as Generate<Generator['kind']>)(generator as never, context);
