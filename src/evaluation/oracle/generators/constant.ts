import type { Generate } from './generator.ts';

/** The same value everywhere: exact ties. */
export const constant: Generate<'constant'> = ({ value }, { elementCount }) =>
  new Float64Array(elementCount).fill(value);
