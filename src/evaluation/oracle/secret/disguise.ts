import type { Disguise, DisguiseRequest } from './disguise-request.ts';
import { freedomOf } from './freedom.ts';
import { applyConstants, applySteps, applyWholes } from './kinds/constants.ts';
import { plantNumbers } from './kinds/exactly.ts';
import { disguiseRows } from './kinds/rows.ts';
import { scaleAll } from './kinds/scales.ts';
import { plantWords } from './kinds/words.ts';
import { disguiseZeros } from './kinds/zeros.ts';
import type { SecretSet } from './secret-set.ts';
import { clampTo } from './storable.ts';
import { applyVariant, isVariantKind, type VariantKind } from './variants/index.ts';

/** What each kind does, but for those that come in variants. */
const DISGUISES: Readonly<Record<Exclude<SecretSet['kind'], VariantKind>, Disguise>> = {
  'secret:large': scaleAll,
  'secret:small': scaleAll,
  'secret:rows': disguiseRows,
  'secret:zeros': disguiseZeros,
  'secret:constants': applyConstants,
  'secret:wholes': applyWholes,
  'secret:steps': applySteps,
  'secret:exactly': plantNumbers,
  'secret:words': plantWords,
  // The set whose inputs it changes comes first, then the changes.
  'secret:mutated': (values) => values,
};

/** Changes an input's drawn values, in place, as the secret set says. */
export function disguise(values: Float64Array, secret: SecretSet, request: DisguiseRequest): Float64Array {
  const { problem, buffer, stream } = request;
  const { kind, index = 0, level } = secret;
  const disguised = isVariantKind(kind)
    ? applyVariant(
        values,
        { kind, index, level },
        { problem, buffer, stream, shared: request.shared, freedom: freedomOf(problem) },
      )
    : DISGUISES[kind](values, secret, request);
  return clampTo(buffer.dtype, disguised);
}
