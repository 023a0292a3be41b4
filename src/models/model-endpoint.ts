/** One part of a conversation. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
  /** The conversation up to here will be sent again: an endpoint that caches on request is to cache it. */
  readonly isStable?: true;
}

/** Tokens of one request. */
export interface TokenUsage {
  /** All tokens sent, those included that a cache held. */
  readonly input: number;
  /** Those of `input` that were read from a cache, and those that were written to it. */
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  /** The endpoint did not say; counted from the characters. */
  readonly isEstimate: boolean;
}

export const NO_TOKENS: TokenUsage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, isEstimate: false };

/** Why there is no answer. The first line's may go away by itself; the second's won't; the third is the user's doing. */
export type Failure =
  | ('rate-limited' | 'server-error' | 'connection-lost' | 'too-slow')
  | ('too-long' | 'refused-request' | 'no-text')
  | 'interrupted';

export const isPassing = (failure: Failure): boolean =>
  failure === 'rate-limited' || failure === 'server-error' || failure === 'connection-lost' || failure === 'too-slow';

export type ModelAnswer =
  | {
      readonly ok: true;
      readonly text: string;
      /** The model came to its end; not if it ran out of tokens. */
      readonly isComplete: boolean;
      readonly usage: TokenUsage;
    }
  | {
      readonly ok: false;
      readonly failure: Failure;
      readonly message: string;
      /** How long the endpoint asks to wait. */
      readonly retryAfterMs?: number;
      readonly usage: TokenUsage;
    };

export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly maximumOutputTokens: number;
  readonly signal?: AbortSignal;
}

/** A language model, wherever it runs. */
export interface ModelEndpoint {
  /** As the command line names it, e.g. `anthropic:NAME`. */
  readonly name: string;
  /** Never rejects: whatever goes wrong is in the answer, with the tokens that it cost; also if the signal fires. */
  ask(request: ModelRequest): Promise<ModelAnswer>;
}

/** Characters of a token, low so that budgets hold: code and JSON have about 3. */
const CHARACTERS_PER_TOKEN = 2.5;
/** What protocols add to a message. */
const TOKENS_PER_MESSAGE = 16;

/** No fewer tokens than these messages have, for text that is mostly code or English. */
export const estimateTokens = (messages: readonly Pick<Message, 'text'>[]): number =>
  messages.reduce(
    (sum, { text }) => sum + TOKENS_PER_MESSAGE + Math.ceil(Buffer.byteLength(text) / CHARACTERS_PER_TOKEN),
    0,
  );
