import type { ReferenceFunction } from '../../../src/core/problem.ts';

export const reference: ReferenceFunction = (inputs) => ({ Y: inputs.X!.map((value) => 2 * value) });
