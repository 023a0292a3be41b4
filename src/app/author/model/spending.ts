import { estimateTokens, type Message, type TokenUsage } from '../../../models/model-endpoint.ts';
import { costOf, type TokenPrice } from '../../../models/prices.ts';
import type { Funds } from '../../../optimizer/authoring/author.ts';

/** What a run may use of a model. */
export interface SpendingLimits {
  readonly maximumTokens: number;
  /** In the currency of the price. */
  readonly maximumCost?: number | undefined;
  readonly price?: TokenPrice | undefined;
  /** Whether the endpoint charges less for what its cache held. */
  readonly discounts: boolean;
}

/** Room for one request, or why there is none. */
export type Room =
  | { readonly maximumOutputTokens: number }
  | { readonly reason: 'tokens-spent' | 'cost-spent'; readonly detail: string };

/** Counts what is used, and lets no request be sent that could go beyond a limit. */
export interface Spending {
  readonly tokens: number;
  /** `null` without a price. */
  readonly money: number | null;
  funds(): Funds;
  room(messages: readonly Message[]): Room;
  /** @returns the money of this request; `null` without a price. */
  spend(usage: TokenUsage): number | null;
}

/** Longest answer that is asked for: a kernel and a page of text. */
const MOST_OUTPUT = 16_000;
/** With less room than this no kernel can be answered. */
const LEAST_OUTPUT = 1_000;
/** What is sent may also be written to a cache, at an extra charge. */
const CACHE_WRITE_FACTOR = 1.25;
const TOKENS_PER_PRICE = 1e6;

export function openSpending({ maximumTokens, maximumCost, price, discounts }: SpendingLimits): Spending {
  let tokens = 0;
  let money = 0;
  return {
    get tokens() {
      return tokens;
    },
    get money() {
      return price ? money : null;
    },
    funds: () => ({
      tokensUsed: tokens,
      moneyUsed: money,
      tokensLeft: maximumTokens - tokens,
      moneyLeft: price && maximumCost !== undefined ? maximumCost - money : null,
    }),
    room(messages) {
      const input = estimateTokens(messages);
      const left = maximumTokens - tokens - input;
      if (!(left >= LEAST_OUTPUT)) {
        return {
          reason: 'tokens-spent',
          detail: `${tokens} of ${maximumTokens} tokens used; a request needs about ${input + LEAST_OUTPUT}`,
        };
      }
      const affordable =
        price && maximumCost !== undefined ? outputFor(maximumCost - money, input, price) : MOST_OUTPUT;
      if (!(affordable >= LEAST_OUTPUT)) {
        return { reason: 'cost-spent', detail: `${money.toFixed(4)} of ${maximumCost} spent on tokens` };
      }
      return { maximumOutputTokens: Math.floor(Math.min(MOST_OUTPUT, left, affordable)) };
    },
    spend(usage) {
      tokens += usage.input + usage.output;
      if (!price) return null;
      const cost = costOf(usage, price, discounts);
      money += cost;
      return cost;
    },
  };
}

/** Tokens of an answer that the rest of a budget pays for, after the question. */
function outputFor(left: number, input: number, price: TokenPrice): number {
  const rest = left * TOKENS_PER_PRICE - input * price.input * CACHE_WRITE_FACTOR;
  if (price.output === 0) return rest >= 0 ? MOST_OUTPUT : 0;
  return rest / price.output;
}
