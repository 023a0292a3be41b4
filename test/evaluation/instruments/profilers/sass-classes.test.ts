import { describe, expect, it } from 'vitest';
import {
  accessBytes,
  sassClass,
  tensorFlop,
  vectorFlop,
} from '../../../../src/evaluation/instruments/profilers/sass-classes.ts';

describe('sassClass', () => {
  it.each([
    ['FFMA', 'fp32'],
    ['HFMA2.MMA', 'fp16'],
    ['HADD2.F32', 'conversion'],
    ['IMAD.WIDE.U32', 'integer'],
    ['IMAD.MOV.U32', 'move'],
    ['MUFU.EX2', 'special'],
    ['HGMMA.64x128x16.F32', 'tensor'],
    ['LDG.E.128', 'global-load'],
    ['LDSM.16.M88.4', 'shared-load'],
    ['LDC.64', 'constant-load'],
    ['RED.E.ADD.F32.FTZ.RN', 'atomic'],
    ['REDG.E.ADD.F32.FTZ.RN.STRONG.GPU', 'atomic'],
    ['SHFL.BFLY', 'shuffle'],
    ['BAR.SYNC.DEFER_BLOCKING', 'barrier'],
    ['ISETP.GE.AND', 'predicate'],
    ['LDGSTS.E.BYPASS.128', 'async-copy'],
    ['UTMALDG.2D', 'async-copy'],
    ['NOSUCHOP', undefined],
  ])('%s is %s', (opcode, kind) => expect(sassClass(opcode)).toBe(kind));
});

describe('work of an instruction', () => {
  it.each([
    ['HMMA.16816.F32', 2 * 16 * 8 * 16],
    ['HMMA.1688.F32', 2 * 16 * 8 * 8],
    ['HGMMA.64x128x16.F32', (2 * 64 * 128 * 16) / 4],
    ['DMMA.884', 2 * 8 * 8 * 4],
    ['IMMA.16832.S8.S8', 0],
    ['HMMA', undefined],
  ])('%s does %j FLOP in a warp', (opcode, flop) => expect(tensorFlop(opcode)).toBe(flop));

  it('counts lanes as the virtual GPU does', () => {
    expect(vectorFlop('FFMA.FTZ')).toEqual({ kind: 'fp32', count: 2 });
    expect(vectorFlop('HFMA2.MMA')).toEqual({ kind: 'fp16', count: 4 });
    expect(vectorFlop('DADD')).toEqual({ kind: 'fp64', count: 1 });
    expect(vectorFlop('HADD2.F32')).toBeUndefined();
    expect(vectorFlop('IADD3')).toBeUndefined();
  });

  it.each([
    ['LDG.E', 4],
    ['LDG.E.U8', 1],
    ['STG.E.U16', 2],
    ['LDG.E.64.CONSTANT', 8],
    ['LDG.E.LTC128B.128', 16],
  ])('%s moves %i bytes a lane', (opcode, bytes) => expect(accessBytes(opcode)).toBe(bytes));
});
