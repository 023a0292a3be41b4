import type { FunctionBuilder, Local } from './function-builder.ts';

/** Of the 16-bit lanes of two vectors, those of the first or of the second half in turn. */
const INTERLEAVED = [0, 1].map((half) =>
  Array.from({ length: 16 }, (_, byte) => (byte & 1) + (((byte >> 2) + half * 4) << 1) + ((byte >> 1) & 1) * 16),
);
/** Bits of a vector's, and of a lane's number. */
const ROUNDS = 3;

/** Rows of eight halves, in as many locals, become columns. Each round moves one bit of a lane's number to the vector's, and one back. */
export function emitTranspose(f: FunctionBuilder, rows: readonly Local[]): readonly Local[] {
  let vectors = rows;
  for (let round = 0; round < ROUNDS; round++) {
    const from = vectors;
    vectors = from.map((_, i) => {
      const local = f
        .get(from[i >> 1]!, from[(i >> 1) + 4]!)
        .shuffle(INTERLEAVED[i & 1]!)
        .pop('v128');
      return local;
    });
  }
  return vectors;
}
