import type { ParameterValues } from '../../../core/kernel.ts';
import { type Amount, combineAmounts, constant, root } from '../../../cuda-source/amounts.ts';
import type { Parameter } from './find-parameters.ts';

/** Settings that were tried. */
export interface Tried {
  /** They give the original's results. */
  readonly verified: readonly ParameterValues[];
  /** The others, with why not. */
  readonly refused: readonly { readonly setting: ParameterValues; readonly reason: string }[];
}

/** Exponents of the parameters in a product. */
type Exponents = readonly number[];

/**
 * What parameters must keep together, as far as it was seen: products and quotients that every verified setting has alike, and
 * that settings which failed have not. A tile of BM × BK that BM × BN ÷ TM threads load, an element each, needs BK × TM = BN.
 */
export function couplings(
  parameters: readonly Pick<Parameter, 'name' | 'value'>[],
  { verified, refused }: Tried,
): Amount[] {
  const quotientIn = (setting: ParameterValues, exponents: Exponents): number =>
    exponents.reduce((product, exponent, i) => product * setting[parameters[i]!.name]! ** exponent, 1);
  const written = Object.fromEntries(parameters.map(({ name, value }) => [name, value]));
  const differs = (setting: ParameterValues, exponents: Exponents): boolean =>
    Math.abs(Math.log2(quotientIn(setting, exponents) / quotientIn(written, exponents))) > 1e-9;
  const kept = productsOf(parameters.length).filter((one) => !verified.some((setting) => differs(setting, one)));
  let unexplained = refused.map(({ setting }) => setting);
  return kept.flatMap((exponents) => {
    const left = unexplained.filter((setting) => !differs(setting, exponents));
    if (left.length === unexplained.length) return [];
    unexplained = left;
    return [equation(parameters, exponents, quotientIn(written, exponents))];
  });
}

/** Few factors first; the first exponent that is not 0 is positive, since a quotient's inverse says the same. */
function productsOf(count: number): Exponents[] {
  const all = Array.from({ length: 3 ** count }, (_, at) =>
    Array.from({ length: count }, (_unused, i) => (Math.floor(at / 3 ** i) % 3) - 1),
  );
  const factors = (exponents: Exponents): number => exponents.filter((one) => one !== 0).length;
  const usable = all.filter(
    (one) => factors(one) > 1 && factors(one) <= 3 && one.find((exponent) => exponent !== 0) === 1,
  );
  return usable.sort((a, b) => factors(a) - factors(b));
}

/** `BM * BK == 8 * TM`, without divisions. */
function equation(parameters: readonly Pick<Parameter, 'name'>[], exponents: Exponents, quotient: number): Amount {
  const product = (sign: number, factor: number): Amount =>
    parameters.reduce(
      (all, { name }, i) => (exponents[i] === sign ? combineAmounts('*', all, root(name)) : all),
      constant(factor) as Amount,
    );
  return combineAmounts(
    '==',
    product(1, quotient < 1 ? Math.round(1 / quotient) : 1),
    product(-1, quotient > 1 ? Math.round(quotient) : 1),
  );
}
