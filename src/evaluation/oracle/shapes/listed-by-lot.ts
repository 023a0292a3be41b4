import type { Dimensions } from '../../../core/problem.ts';
import { below } from '../../../stats/random.ts';
import { askingForOutputs } from './asked-outputs.ts';
import type { Drawing } from './drawing.ts';

/** How often listed values are the timed shape's, or those that ask for every output; and in how many draws the kernel must take others. */
const LIKE_TIMED = { ratio: 0.5, askingRatio: 0.5, tries: 8 } as const;

/**
 * A shape of which drawn shapes have their listed values, such as flags and a head dimension: by lot the timed shape, the one that asks for every output, or the
 * timed shape with any values that the kernel takes. A kernel may have a path for each.
 */
export function listedByLot(drawing: Drawing): Dimensions {
  const { problem, timed, takes, next } = drawing;
  const listed = Object.entries(problem.dimensions).filter(([, { values = [] }]) => values.length > 1);
  if (listed.length === 0) return timed;
  if (next() < LIKE_TIMED.ratio) return timedOrAsking(drawing);
  for (let attempt = 0; attempt < LIKE_TIMED.tries; attempt++) {
    const drawn = listed.map(([name, { values }]) => [name, values![below(next, values!.length)]!] as const);
    const shape = { ...timed, ...Object.fromEntries(drawn) };
    if (takes(shape)) return shape;
  }
  return timed;
}

/** The timed shape, or by lot the one that asks for every output, where that is another and the kernel takes it: where drawn shapes have their listed values from. */
function timedOrAsking({ problem, timed, takes, next }: Drawing): Dimensions {
  const asking = askingForOutputs(problem, timed);
  return asking !== timed && next() < LIKE_TIMED.askingRatio && takes(asking) ? asking : timed;
}
