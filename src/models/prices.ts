import { WarpsmithError } from '../core/errors.ts';
import type { TokenUsage } from './model-endpoint.ts';

/** Money per million tokens, in one currency. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
}

/** What Anthropic asks for tokens read from its cache and written to it, as multiples of the price of others. */
const CACHE_FACTORS = { read: 0.1, write: 1.25 } as const;
const TOKENS = 1e6;

/** `3,15`: per million tokens sent and answered. @throws WarpsmithError `bad-price`. */
export function parsePrice(text: string): TokenPrice {
  const [input = Number.NaN, output = Number.NaN, ...rest] = text
    .split(',')
    .map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const isPrice = (value: number): boolean => value >= 0 && value < 1e6;
  if (isPrice(input) && isPrice(output) && rest.length === 0) return { input, output };
  throw new WarpsmithError({
    code: 'bad-price',
    message: 'The price of tokens can’t be read.',
    path: '--price',
    received: text.slice(0, 80),
    expected: 'two numbers, per million tokens: sent,answered',
    hint: 'For example --price 3,15.',
  });
}

/**
 * The most that tokens cost: endpoints whose cache costs nothing extra, or which give no discount, cost no more than `false` says.
 *
 * @param discounts whether the endpoint is known to charge less for what it read from its cache.
 */
export function costOf(usage: TokenUsage, price: TokenPrice, discounts: boolean): number {
  const { input, cacheRead, cacheWrite, output } = usage;
  const plain = Math.max(0, input - cacheRead - cacheWrite);
  const read = cacheRead * (discounts ? CACHE_FACTORS.read : 1);
  const sent = plain + read + cacheWrite * CACHE_FACTORS.write;
  return (sent * price.input + output * price.output) / TOKENS;
}
