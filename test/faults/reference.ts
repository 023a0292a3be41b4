import type { ReferenceFunction } from '../../src/core/problem.ts';

/** y = 2 x, which is exact. */
export const reference: ReferenceFunction = ({ x }) => ({ y: x!.map((value) => 2 * value) });
