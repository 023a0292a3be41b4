import type { Generator } from '../../../core/problem.ts';
import { alternating, ramp } from './along-axis.ts';
import { constant } from './constant.ts';
import { csr } from './csr.ts';
import type { Generate, GeneratorContext } from './generator.ts';
import { indexRange } from './index-range.ts';
import { large } from './large.ts';
import { normal } from './normal.ts';
import { npy } from './npy.ts';
import { offGrid } from './off-grid.ts';
import { oneHot } from './one-hot.ts';
import { permutation } from './permutation.ts';
import { positive } from './positive.ts';
import { sparse } from './sparse.ts';
import { special } from './special.ts';
import { uniform } from './uniform.ts';
import { zipf } from './zipf.ts';

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
  special: (generator, context) => special(generate(generator.of ?? { kind: 'normal' }, context), generator, context),
  sparse,
  'off-grid': offGrid,
  alternating,
  ramp,
};

/** Draws an input's elements, row-major and not yet rounded. */
export const generate = (generator: Generator, context: GeneratorContext): Float64Array =>
  (GENERATORS[generator.kind] as Generate<Generator['kind']>)(generator as never, context);
