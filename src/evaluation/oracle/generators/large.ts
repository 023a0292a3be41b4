import type { Generate } from './generator.ts';

/** Normal values with a large standard deviation: finds missing maximum subtraction and overflow. */
export const large: Generate<'large'> = ({ magnitude }, { elementCount, stream }) => {
  const values = new Float64Array(elementCount);
  stream.fillNormal(values, 0, magnitude);
  return values;
};
