import type { DeviceSpec } from '../../src/core/device-spec.ts';
import type { InlineRequest } from '../../src/virtual-gpu/run-inline.ts';

export const ROWS = 61;
export const COLUMNS = 333;

/** Values with fractions that make the order of additions show in the last bits. */
export const matrix = (): Uint8Array<ArrayBuffer> => {
  const values = Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => Math.fround(Math.sin(i) * 1000 + i / 7));
  return new Uint8Array(values.buffer);
};

/** The example's second rung, as clang compiled it for sm_89: a warp per row, four warps per CTA. */
export const rowSumRequest = (ptx: string, spec: DeviceSpec): InlineRequest => ({
  ptx,
  spec,
  cache: 'hot',
  buffers: { x: matrix(), y: new Uint8Array(ROWS * 4) },
  launches: [
    {
      functionName: '_Z7row_sumPKfPfii',
      grid: [Math.ceil(ROWS / 4), 1, 1],
      block: [128, 1, 1],
      arguments: [
        { kind: 'buffer', buffer: 'x', offsetBytes: 0 },
        { kind: 'buffer', buffer: 'y', offsetBytes: 0 },
        { kind: 'scalar', dtype: 'i32', value: ROWS },
        { kind: 'scalar', dtype: 'i32', value: COLUMNS },
      ],
    },
  ],
});
