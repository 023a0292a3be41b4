import { expect, it } from 'vitest';
import { DTYPES } from '../../src/core/dtype.ts';
import { decode, encode, roundAll, roundTo } from '../../src/core/rounding.ts';
import { createStream } from '../../src/stats/random.ts';

it.each([0, 1, 2, 7, 64])('%i normal values drawn together are those drawn one by one', (count) => {
  const stream = createStream('together');
  const values = new Float64Array(count);
  stream.fillNormal(values, 3, 0.5);
  expect([...values]).toEqual(Array.from({ length: count }, (_, i) => 3 + 0.5 * stream.normal(i)));
});

it.each(DTYPES)('%s: rounding all at once is rounding one by one', (dtype) => {
  const stream = createStream('rounding');
  const special = [
    0,
    -0,
    0.5,
    1.5,
    -2.5,
    65504,
    65520,
    1e5,
    -1e5,
    3.4e38,
    1e300,
    6e-8,
    Number.POSITIVE_INFINITY,
    Number.NaN,
  ];
  const values = Float64Array.from([...special, ...Array.from({ length: 200 }, (_, i) => 300 * stream.normal(i))]);
  const round = roundTo(dtype);
  expect([...roundAll(values, dtype)]).toEqual([...values].map(round));
});

it.each(DTYPES)('%s: elements are decoded from any offset of any kind of byte array', (dtype) => {
  const values = [1, 2, 3];
  const encoded = encode(values, dtype);
  for (const offset of [0, 1, 3, 7]) {
    const pooled = Buffer.alloc(offset + encoded.length);
    pooled.set(encoded, offset);
    expect([...decode(pooled.subarray(offset), dtype)]).toEqual(values);
  }
});
