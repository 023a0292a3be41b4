export interface ExpressionFunction {
  readonly minimumArity: number;
  readonly maximumArity: number;
  /** How it is written, for messages. */
  readonly usage: string;
  readonly apply: (...values: number[]) => number;
  /** Index of the argument that must not be zero. */
  readonly divisor?: number;
  /** Its value is one of its arguments. */
  readonly chooses?: boolean;
}

const unary = (name: string, apply: (value: number) => number): [string, ExpressionFunction] => [
  name,
  { minimumArity: 1, maximumArity: 1, usage: `${name}(x)`, apply },
];
const variadic = (name: string, apply: (...values: number[]) => number): [string, ExpressionFunction] => [
  name,
  { minimumArity: 1, maximumArity: Number.POSITIVE_INFINITY, usage: `${name}(x, …)`, apply, chooses: true },
];

/** Every function of the expression language. */
export const EXPRESSION_FUNCTIONS: ReadonlyMap<string, ExpressionFunction> = new Map([
  [
    'ceilDiv',
    {
      minimumArity: 2,
      maximumArity: 2,
      usage: 'ceilDiv(dividend, divisor)',
      // Not ceil(a / b): the remainder is exact, but the quotient is rounded.
      apply: (dividend: number, divisor: number) => {
        const remainder = dividend % divisor;
        const quotient = (dividend - remainder) / divisor;
        return remainder !== 0 && remainder > 0 === divisor > 0 ? quotient + 1 : quotient;
      },
      divisor: 1,
    },
  ],
  unary('floor', Math.floor),
  unary('ceil', Math.ceil),
  unary('abs', Math.abs),
  unary('log2', Math.log2),
  unary('sqrt', Math.sqrt),
  [
    'pow',
    { minimumArity: 2, maximumArity: 2, usage: 'pow(base, exponent)', apply: (base, exponent) => base ** exponent },
  ],
  variadic('min', Math.min),
  variadic('max', Math.max),
] satisfies [string, ExpressionFunction][]);
