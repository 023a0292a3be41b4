import type { PtxInstruction } from '../../../src/ptx/ast.ts';
import { divide, type Exact, exactInteger, finite, infinity, isZero, NAN, squareRoot } from './exact.ts';
import { exactOfNumber, numberOf } from './formats.ts';

/** The functions whose results the ISA only bounds, in float64: 2⁻⁵⁰ or better, far inside every bound. */
const FUNCTIONS: Record<string, (x: Exact) => Exact> = {
  sin: trigonometric(Math.sin),
  cos: trigonometric(Math.cos),
  tanh: (x) => (isZero(x) ? x : exactOfNumber(Math.tanh(numberOf(x)))),
  ex2: (x) => exactOfNumber(2 ** numberOf(x)),
  lg2: (x) => exactOfNumber(isZero(x) ? Number.NEGATIVE_INFINITY : Math.log2(numberOf(x))),
  rcp: (x) => divide(exactInteger(1n), x),
  rsqrt: (x) => {
    if (x.kind === 'nan') return NAN;
    if (isZero(x)) return infinity(x.negative);
    if (x.negative) return NAN;
    return x.kind === 'infinite' ? finite(false, 0n, 0) : divide(exactInteger(1n), squareRoot(x));
  },
};

function trigonometric(f: (x: number) => number): (x: Exact) => Exact {
  return (x) => (x.kind === 'finite' ? exactOfNumber(f(numberOf(x))) : NAN);
}

export function approximate(opcode: string, x: Exact): Exact {
  if (x.kind === 'nan') return NAN;
  const f = FUNCTIONS[opcode];
  if (!f) throw new Error(`${opcode} is not an approximate function`);
  return f(x);
}

/** How far a result may be from the true value: relative to it, and absolute. */
export interface ErrorBound {
  relative: number;
  absolute: number;
  /** Inputs outside have no stated bound. */
  domain?: (x: number, y: number) => boolean;
}

const relative = (bound: number, domain?: ErrorBound['domain']): ErrorBound => ({
  relative: bound,
  absolute: 0,
  ...(domain ? { domain } : {}),
});

/** Two units in the last place of f32, at worst 2⁻²² of the value. */
const TWO_ULP = 2 ** -22;
const isNormalDivisor = (_: number, y: number): boolean => Math.abs(y) >= 2 ** -126;

/**
 * Bounds by `opcode.qualifier.type`. Source: PTX ISA 8.x, "Floating-Point Instructions", each instruction's notes.
 * sin and cos: within [−2π, 2π].
 */
const BOUNDS: Record<string, ErrorBound> = {
  'rcp.approx.f32': relative(2 ** -23),
  'div.approx.f32': relative(TWO_ULP, isNormalDivisor),
  'div.full.f32': relative(TWO_ULP),
  'sqrt.approx.f32': relative(2 ** -23),
  'rsqrt.approx.f32': relative(2 ** -22.9),
  'rcp.approx.f64': relative(2 ** -20),
  'rsqrt.approx.f64': relative(2 ** -20),
  'sin.approx.f32': { relative: 0, absolute: 2 ** -20.5, domain: (x) => Math.abs(x) <= 2 * Math.PI },
  'cos.approx.f32': { relative: 0, absolute: 2 ** -20.5, domain: (x) => Math.abs(x) <= 2 * Math.PI },
  'lg2.approx.f32': { relative: 2 ** -22, absolute: 2 ** -22 },
  'ex2.approx.f32': relative(2 ** -22),
  'ex2.approx.f16': relative(2 ** -9.9),
  'ex2.approx.bf16': relative(2 ** -7),
  'tanh.approx.f32': relative(2 ** -11),
  'tanh.approx.f16': { relative: 0, absolute: 2 ** -10.987 },
  'tanh.approx.bf16': { relative: 0, absolute: 2 ** -8 },
};

/** The ISA's bound for an approximate instruction; undefined when its result is exact. */
export function errorBound(instruction: PtxInstruction): ErrorBound | undefined {
  const qualifier = ['approx', 'full'].find((name) => instruction.modifiers.includes(name));
  if (!qualifier) return undefined;
  const type = instruction.modifiers.at(-1)!.replace('x2', '');
  const bound = BOUNDS[`${instruction.opcode}.${qualifier}.${type}`];
  if (!bound) throw new Error(`no error bound is known for ${instruction.text}`);
  return bound;
}
