import { expect, it } from 'vitest';
import { parsePtx } from '../../src/ptx/parse.ts';
import { constantsOf } from '../../src/virtual-gpu/decisions/code-constants.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';

const constantsIn = (body: string) => constantsOf(parsePtx(moduleText('.file 1 "kernel.cu"', entry({ body }))));

it('numbers that values are held against, and numbers that are added to them, up to where fp32 ends', () => {
  const body = `
    .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .pred %p<3>;
    .loc 1 2 3
    add.f32 %f1, %f0, 0f42A00000;
    sub.f32 %f2, %f0, 0f41800000;
    add.f32 %f3, %f0, 0f3F800000;
    add.f32 %f4, %f0, 0f4B400000;
    setp.gt.f32 %p1, %f1, 0f44160000;
    setp.lt.s32 %p2, %r1, 777;
    ret;`;
  expect(constantsIn(body)).toEqual({ sizes: [777], values: [600], gaps: [16, 80] });
});
