import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accumulatorFor, factorsOf, tensorModel } from '../../../src/virtual-gpu/runtime/tensor-model.ts';

interface Case {
  form: string;
  kind: number;
  index: number;
  /** 128 hexadecimal words, row-major 16 × 8. */
  d: string;
}

const FORMS = ['m16n8k16.f16', 'm16n8k8.f16', 'm16n8k16.bf16', 'm16n8k8.tf32'];
const { cases } = JSON.parse(
  readFileSync(new URL('../../../docs/results/h200-tensor-accumulation.json', import.meta.url), 'utf8'),
) as { cases: Case[] };

const scratch = new DataView(new ArrayBuffer(4));
const bitsOf = (value: number): number => {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
};
const fromBits = (bits: number): number => {
  scratch.setUint32(0, bits);
  return scratch.getFloat32(0);
};

/** The inputs of a case, drawn as bench/hardware/tensor_accumulation.cu draws them. B is kept by column. */
function inputsOf({ form, kind, index }: Case) {
  const number = FORMS.indexOf(form);
  const k = form.includes('k16') ? 16 : 8;
  let state = 1 + number * 1000 + kind * 100 + index;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  const draw = (): number => {
    const [r, s] = [random(), random()];
    if (kind === 0) return Math.fround(r / 8388608) - 1;
    const magnitude = Math.fround(1 + r / 16777216) * (2 ** (s % 16) / 256);
    return (s >>> 8) & 1 ? -magnitude : magnitude;
  };
  const quantise = (value: number): number => {
    if (number < 2) return Math.f16round(value);
    return fromBits((bitsOf(value) & (number === 2 ? 0xffff0000 : 0xffffe000)) >>> 0);
  };
  const a = Float64Array.from({ length: 16 * k }, () => quantise(draw()));
  const rows = Float64Array.from({ length: k * 8 }, () => quantise(draw()));
  const b = Float64Array.from({ length: k * 8 }, (_, i) => rows[(i % k) * 8 + Math.floor(i / k)]!);
  const c = Float64Array.from({ length: 128 }, (_, i) => {
    let exact = 0;
    for (let j = 0; j < k; j++) exact += a[Math.floor(i / 8) * k + j]! * b[(i % 8) * k + j]!;
    return kind === 2 ? Math.fround(-exact) : Math.fround(draw());
  });
  return { a, b, c, k };
}

/** Elements of a case whose bits differ from the recording under a target's model. */
function differences(test: Case, target: string): number {
  const { a, b, c, k } = inputsOf(test);
  const accumulate = accumulatorFor('f32', test.form.split('.')[1]!, tensorModel(target))!;
  const [left, right] = [factorsOf(a), factorsOf(b)];
  return test.d.split(' ').filter((word, i) => {
    const got = accumulate(c[i]!, left, right, Math.floor(i / 8), i % 8, k);
    return bitsOf(got) !== Number.parseInt(word, 16);
  }).length;
}

describe('mma.sync accumulation against an H200', () => {
  for (const form of FORMS) {
    const own = cases.filter((test) => test.form === form);
    it(`${form}: every bit of ${own.length} recorded products`, () => {
      expect(own.length).toBe(24);
      for (const test of own) expect(differences(test, 'sm_90a'), `kind ${test.kind}, index ${test.index}`).toBe(0);
    });
  }

  it('the recording tells generations apart: the Ada model gives other bits', () => {
    const k16 = cases.filter((test) => test.form === 'm16n8k16.f16');
    expect(k16.reduce((sum, test) => sum + differences(test, 'sm_89'), 0)).toBeGreaterThan(0);
  });
});
