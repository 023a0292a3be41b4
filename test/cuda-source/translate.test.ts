import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { printAmount } from '../../src/cuda-source/amounts.ts';
import { readCudaSource } from '../../src/cuda-source/source.ts';
import { translateFunction } from '../../src/cuda-source/translate.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-translate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function translate(text: string, name = 'f') {
  const source = readCudaSource(text, 'a.cu');
  return translateFunction(source, source.functions.get(name)![0]!, () => undefined);
}

/** Runs a translated function; arrays are changed in place. */
async function call(text: string, ...args: unknown[]): Promise<unknown> {
  const translated = translate(text);
  if ('reason' in translated) throw new Error(`${translated.reason} (line ${translated.line})`);
  const file = join(folder, `f${count++}.ts`);
  writeFileSync(file, `${translated.text}\nexport { ${translated.name} };\n`);
  const module = (await import(file)) as Record<string, (...values: unknown[]) => unknown>;
  return module[translated.name]!(...args, (value: number) => value);
}

const arrayOf = (...values: number[]): Float64Array => Float64Array.from(values);

describe('C functions as TypeScript', () => {
  it.each<[what: string, body: string, expected: number]>([
    ['whole division', 'int a = 7; return a / 2;', 3],
    ['whole division of negatives', 'int a = -7; return a / 2;', -3],
    ['division of reals', 'float a = 7; return a / 2;', 3.5],
    ['a cast to int', 'return (int)2.9f + int(-2.9);', 0],
    ['a cast before a division', 'int a = 7, b = 2; return (float)a / b;', 3.5],
    ['a real stored in an int', 'int a; a = 3.7; return a;', 3],
    ['int accumulation', 'int a = 7; a /= 2; a += 1; return a;', 4],
    ['unsigned wrap-around', 'unsigned int a = 4000000000u; a = a * 3u; return a;', 3410065408],
    ['unsigned right shift', 'unsigned int a = 0xF0000000u; return a >> 28;', 15],
    ['bits', 'int a = 12; return (a & 6) | 1 ^ 2;', 7],
    ['remainder', 'int a = -7; return a % 3;', -1],
    ['conditions', 'int a = 3; return a > 2 && a != 4 ? 10 : 20;', 10],
    ['comparisons as numbers', 'int a = 3; return (a > 2) + (a > 1);', 2],
    ['do and while', 'int a = 0; do { a++; } while (a < 5); while (a > 3) --a; return a;', 3],
    [
      'break and continue',
      'int s = 0; for (int i = 0; i < 10; i++) { if (i == 2) continue; if (i == 5) break; s += i; } return s;',
      8,
    ],
    ['math functions', 'return sqrtf(16.f) + fmaxf(1.f, 2.f) + fabs(-3.0) + powf(2.f, 3.f);', 17],
    ['fma', 'return fmaf(2.f, 3.f, 4.f);', 10],
    ['min of integers stays whole', 'int a = 7; return std::min(a, 9) / 2;', 3],
    ['local arrays', 'float t[4] = {0}; t[2] = 5; t[2] += 1; return t[2] + t[0];', 6],
    ['matrices', 'float t[2][3]; t[1][2] = 5; t[0][2] = 2; return t[1][2] - t[0][2];', 3],
    [
      'a precedence that parentheses must keep',
      'float a = 2, b = 3, c = 4; return a - (b - c) - a * (b + c) / (a / b);',
      -18,
    ],
    ['float literals that are not what they say', 'return 0.1f;', Math.fround(0.1)],
    ['erf', 'return erf(0.5) - 0.5204998778130465 < 1e-15 ? 1 : 0;', 1],
    ['erf far out', 'return erff(3.0f);', 0.9999779095030014],
  ])('%s', async (_, body, expected) =>
    expect(
      await call(
        `float f() { ${body} }`.replace('float f', body.includes('unsigned int a') ? 'unsigned int f' : 'float f'),
      ),
    ).toBeCloseTo(expected, 12),
  );

  it('arrays, pointers into them and functions that they are passed to', async () => {
    const x = arrayOf(1, 2, 3, 4, 5, 6);
    const y = new Float64Array(2);
    const text =
      'static float sum(const float *p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }\n' +
      'void f(const float *x, float *y, int rows, int columns) { for (int r = 0; r < rows; r++) { const float *row = x + r * columns; y[r] = sum(row, columns) / columns + *row; } }';
    await call(text, x, y, 2, 3);
    expect([...y]).toEqual([3, 9]);
    expect([...x]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('macros with parameters, as text', async () => {
    const y = new Float64Array(6);
    await call(
      '#define AT(i, j) ((i) * 3 + (j))\n#define TWICE(x) ((x) + (x))\nvoid f(float *y) { y[AT(0 + 1, 2)] = 2 * TWICE(3); }',
      y,
    );
    expect(y[5]).toBe(12);
  });

  it('names that TypeScript has taken', async () => {
    const out = new Float64Array(1);
    await call(
      'void f(const float *in, float *out) { float var = in[0]; float let = var; out[0] = let; }',
      arrayOf(4),
      out,
    );
    expect(out[0]).toBe(4);
  });

  it.each<[what: string, text: string]>([
    ['a struct', 'struct P { float a; }; void f(P *p) { p[0].a = 1; }'],
    ['a switch', 'void f(float *y, int n) { switch (n) { case 0: y[0] = 1; } }'],
    ['an unknown function', 'void f(float *y) { y[0] = mystery(1); }'],
    ['recursion', 'float f(int n) { return n < 1 ? 1 : n * f(n - 1); }'],
    ['a pointer that moves', 'void f(float *y) { float *p = y; p++; *p = 1; }'],
    ['a macro that falls apart', '#define TWICE(x) (x) + (x)\nvoid f(float *y) { y[0] = 2 * TWICE(3); }'],
    ['a macro whose argument falls apart', '#define SQUARE(x) (x * x)\nvoid f(float *y) { y[0] = SQUARE(y[1] + 1); }'],
    ['goto', 'void f(float *y) { again: y[0] = 1; goto again; }'],
    ['random numbers', 'void f(float *y) { y[0] = rand(); }'],
  ])('refuses %s, with its line', (_, text) => {
    const refused = translate(text);
    expect(refused).toMatchObject({ line: text.split('\n').length });
    expect((refused as { reason: string }).reason).toBeTruthy();
  });
});

it('rounds what it stores, so that audit can take precision away', () => {
  const translated = translate(
    'void f(const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s; }',
  );
  expect(translated).toMatchObject({ text: expect.stringContaining('y[0] = round(s);') as string });
});

describe('the work of a function', () => {
  const workOf = (text: string) => {
    const translated = translate(text);
    if ('reason' in translated) throw new Error(translated.reason);
    return { flop: printAmount(translated.flop), terms: printAmount(translated.terms) };
  };

  it.each<[what: string, text: string, flop: string, terms: string]>([
    [
      'a matrix product',
      'void f(const float *a, const float *b, float *c, int M, int N, int K) { for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) { float s = 0; for (int k = 0; k < K; k++) s += a[i * K + k] * b[k * N + j]; c[i * N + j] = s; } }',
      '2 * (M * N * K)',
      'K',
    ],
    [
      'an elementwise function',
      'void f(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i] + 1; }',
      '2 * n',
      '1',
    ],
    [
      'a sum into an element',
      'void f(const float *x, float *y, int n) { for (int i = 0; i < n; i += 2) y[0] += x[i]; }',
      'ceilDiv(n, 2)',
      'ceilDiv(n, 2)',
    ],
    [
      'a triangle, half of the square',
      'void f(const float *x, float *y, int n) { for (int i = 0; i < n; i++) { float s = 0; for (int j = 0; j < i; j++) s += x[j]; y[i] = s; } }',
      'n * floor(n / 2)',
      'n',
    ],
  ])('%s', (_, text, flop, terms) => expect(workOf(text)).toEqual({ flop, terms }));
});
