import { createStream } from '../../../src/stats/random.ts';
import { type HopperKernel, kernelText, loadShared, POINTER, storeShared } from '../hopper/ptx.ts';
import { drawBits, drawerOf } from './draw-floats.ts';
import type { RecordedCase } from './recorded-case.ts';

const LANES = 32;
/** Rows of 16 bytes, one for each lane. */
const TILE_BYTES = LANES * 16;
const COUNTS = [1, 2, 4];

const registers = (count: number): string => `{${Array.from({ length: count }, (_, i) => `%r${20 + i}`).join(', ')}}`;

/** `%r4`: the row of the lane, in an order that no formula of lanes gives; `%r5`: the lane's 16 bytes. */
const PLACES = `
  mov.u32 %r0, %laneid;
  mov.u32 %r10, smem;
  mad.lo.u32 %r4, %r0, 11, 5;
  and.b32 %r4, %r4, 31;
  shl.b32 %r4, %r4, 4;
  add.u32 %r4, %r4, %r10;
  shl.b32 %r5, %r0, 4;
  add.u32 %r5, %r5, %r10;`;

const OWN = '{%r20, %r21, %r22, %r23}';

function caseOf(name: string, steps: string): RecordedCase {
  const kernel: HopperKernel = {
    parameters: [POINTER('in'), POINTER('out')],
    threads: LANES,
    body: `${loadShared(TILE_BYTES, LANES)}${PLACES}
  ld.shared.v4.b32 ${OWN}, [%r5];
  bar.sync 0;
  ${steps}
  bar.sync 0;
  ${storeShared(TILE_BYTES, 0, LANES)}`,
  };
  return {
    name,
    family: 'matrices of a warp',
    ptx: kernelText(kernel),
    buffers: () => ({ in: drawBits(TILE_BYTES, drawerOf(createStream('recorded matrix'))), out: TILE_BYTES }),
    launches: [{ block: LANES, dynamicSharedBytes: TILE_BYTES, arguments: ['in', 'out'] }],
    parts: [{ name: 'shared memory', bytes: TILE_BYTES }],
  };
}

const forms = (opcode: string): { count: number; name: string }[] =>
  COUNTS.flatMap((count) =>
    ['', '.trans'].map((trans) => ({ count, name: `${opcode}.sync.aligned.m8n8.x${count}${trans}.shared.b16` })),
  );

export const MATRIX_CASES: readonly RecordedCase[] = [
  ...forms('ldmatrix').map(({ count, name }) =>
    caseOf(name, `${name} ${registers(count)}, [%r4]; bar.sync 0; st.shared.v4.b32 [%r5], ${OWN};`),
  ),
  ...forms('stmatrix').map(({ count, name }) => caseOf(name, `${name} [%r4], ${registers(count)};`)),
  caseOf(
    'movmatrix.sync.aligned.m8n8.trans.b16',
    `movmatrix.sync.aligned.m8n8.trans.b16 %r20, %r21; st.shared.v4.b32 [%r5], ${OWN};`,
  ),
];
