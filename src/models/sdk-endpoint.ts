import type { APICallError, LanguageModel, ModelMessage } from 'ai';
import { WarpsmithError } from '../core/errors.ts';
import {
  estimateTokens,
  type Failure,
  type Message,
  type ModelAnswer,
  type ModelEndpoint,
  type ModelRequest,
  NO_TOKENS,
  type TokenUsage,
} from './model-endpoint.ts';

/** Protocols that a model may speak, and the environment variable that holds the key of each. */
const KEY_VARIABLES = {
  anthropic: 'ANTHROPIC_API_KEY',
  'openai-compatible': 'WARPSMITH_MODEL_KEY',
} as const;
type Protocol = keyof typeof KEY_VARIABLES;

/** How long an endpoint may take, in milliseconds and bytes. */
export interface EndpointLimits {
  /** Between two pieces of an answer; also until the first. */
  readonly silenceMs: number;
  readonly totalMs: number;
  readonly answerBytes: number;
}

const DEFAULT_LIMITS: EndpointLimits = { silenceMs: 180_000, totalMs: 1_200_000, answerBytes: 1_048_576 };

export interface EndpointRequest {
  /** `anthropic:NAME` or `openai-compatible:NAME`. */
  readonly model: string;
  /** Where it listens. Anthropic's own if absent. */
  readonly endpoint?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<EndpointLimits>;
}

interface Checked {
  readonly protocol: Protocol;
  readonly name: string;
  readonly url: string | undefined;
  readonly key: string | undefined;
}

/**
 * Whether a model can be asked, without asking it.
 *
 * @throws WarpsmithError `unknown-model`, `bad-endpoint`, `no-endpoint`, `no-model-key`.
 */
export function checkEndpoint({ model, endpoint, environment }: EndpointRequest): Checked {
  const [protocol, name] = splitModel(model);
  const url = endpoint === undefined ? undefined : checkedUrl(endpoint);
  const key = environment[KEY_VARIABLES[protocol]] || undefined;
  if (protocol === 'anthropic' && key === undefined) throw noKey(protocol);
  if (protocol === 'openai-compatible' && url === undefined) throw noEndpoint(name);
  return { protocol, name, url, key };
}

/**
 * A model behind the AI SDK. The key comes from the environment, and appears in no message.
 *
 * @throws WarpsmithError as {@link checkEndpoint}. Sends nothing yet.
 */
export async function openEndpoint(request: EndpointRequest): Promise<ModelEndpoint> {
  const { protocol, name, url, key } = checkEndpoint(request);
  const language = await PROTOCOLS[protocol]({ name, url, key, fetch: withoutRedirects });
  const limits = { ...DEFAULT_LIMITS, ...request.limits };
  const sdk = await import('ai');
  return {
    name: request.model,
    ask: (asked) => askModel(sdk, { language, limits, hide: hiding(key) }, asked),
  };
}

/** @throws WarpsmithError `unknown-model`. */
function splitModel(model: string): [Protocol, string] {
  const [protocol = '', ...rest] = model.split(':');
  const name = rest.join(':');
  if (Object.hasOwn(KEY_VARIABLES, protocol) && /^[\w./:@-]{1,200}$/.test(name)) return [protocol as Protocol, name];
  throw new WarpsmithError({
    code: 'unknown-model',
    message: 'A model is named by its protocol and its name.',
    path: '--model',
    received: model.slice(0, 200),
    expected: 'anthropic:NAME or openai-compatible:NAME',
    hint: 'For a local server give openai-compatible:NAME and its --endpoint.',
  });
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** @throws WarpsmithError `bad-endpoint`: keys travel in the clear only within this machine, and never in an address. */
function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.has(url.hostname));
  if (url && isSafe && !url.username && !url.password && !url.search && !url.hash) return url.href.replace(/\/$/, '');
  throw new WarpsmithError({
    code: 'bad-endpoint',
    message: 'The endpoint of the model can’t be used.',
    path: '--endpoint',
    received: url ? `${url.protocol}//${url.host}${url.pathname}` : 'no address',
    expected: 'an https address, or http on this machine, without user, password and query',
    hint: 'For example http://localhost:8000/v1. A key comes from the environment.',
  });
}

interface Connection {
  readonly name: string;
  readonly url: string | undefined;
  readonly key: string | undefined;
  readonly fetch: typeof fetch;
}

const PROTOCOLS: { readonly [P in Protocol]: (connection: Connection) => Promise<LanguageModel> } = {
  async anthropic({ name, url, key, fetch }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    // Without an address the package would take one from the environment.
    return createAnthropic({ apiKey: key!, baseURL: url ?? 'https://api.anthropic.com/v1', fetch })(name);
  },
  async 'openai-compatible'({ name, url, key, fetch }) {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const provider = createOpenAICompatible({
      name: 'endpoint',
      baseURL: url!,
      fetch,
      includeUsage: true,
      ...(key !== undefined && { apiKey: key }),
    });
    return provider.chatModel(name);
  },
};

const noKey = (protocol: Protocol): WarpsmithError =>
  new WarpsmithError({
    code: 'no-model-key',
    message: `A model of ${protocol} needs a key.`,
    path: KEY_VARIABLES[protocol],
    received: 'nothing',
    expected: 'the key, in the environment',
    hint: `Set ${KEY_VARIABLES[protocol]}. It is sent to the endpoint and kept nowhere.`,
  });

const noEndpoint = (name: string): WarpsmithError =>
  new WarpsmithError({
    code: 'no-endpoint',
    message: `openai-compatible:${name} can be anywhere.`,
    path: '--endpoint',
    received: 'nothing',
    expected: 'the address of the server',
    hint: 'For example --endpoint http://localhost:8000/v1.',
  });

/** A redirect could send the key to somebody else. */
const withoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'error' });

type Hide = (text: string) => string;

const hiding =
  (key: string | undefined): Hide =>
  (text) =>
    key === undefined ? text : text.replaceAll(key, '[key]');

interface Asked {
  readonly language: LanguageModel;
  readonly limits: EndpointLimits;
  readonly hide: Hide;
}

type Sdk = typeof import('ai');

async function askModel(sdk: Sdk, asked: Asked, request: ModelRequest): Promise<ModelAnswer> {
  const { messages, maximumOutputTokens, signal } = request;
  const { limits, hide } = asked;
  const ending = new AbortController();
  const stop = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
  // The failure that this side decided on.
  let ended: { failure: Failure; message: string } | undefined;
  const end = (failure: Failure, message: string): void => {
    ended ??= { failure, message };
    ending.abort(new Error(message));
  };
  const total = setTimeout(() => end('too-slow', `no whole answer within ${limits.totalMs / 1000} s`), limits.totalMs);
  let silence: NodeJS.Timeout | undefined;
  const heard = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => end('too-slow', `nothing came for ${limits.silenceMs / 1000} s`), limits.silenceMs);
  };
  let text = '';
  let error: unknown;
  let finish: string | undefined;
  let usage: TokenUsage | undefined;
  try {
    heard();
    // Whether the SDK prints warnings is a setting of the process. Nothing of a request may be printed.
    Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
    const result = sdk.streamText({
      model: asked.language,
      instructions: messages.filter(({ role }) => role === 'system').map(toSdk) as never,
      messages: messages.filter(({ role }) => role !== 'system').map(toSdk),
      maxOutputTokens: maximumOutputTokens,
      maxRetries: 0,
      abortSignal: stop,
      telemetry: { isEnabled: false },
      onError: () => {},
    });
    for await (const part of result.stream) {
      heard();
      if (part.type === 'text-delta') {
        text += part.text;
        if (text.length > limits.answerBytes) end('too-long', `more than ${limits.answerBytes} characters`);
      } else if (part.type === 'error') error = part.error;
      else if (part.type === 'finish') {
        finish = part.finishReason;
        usage = usageOf(part.totalUsage);
      }
      if (ended) break;
    }
  } catch (thrown) {
    error ??= thrown;
  } finally {
    clearTimeout(total);
    clearTimeout(silence);
    ending.abort();
  }
  const counted = usage ?? estimated(messages, text);
  // What was sent is paid for, and what came of the answer.
  if (signal?.aborted) return { ok: false, failure: 'interrupted', message: 'the user interrupted', usage: counted };
  if (ended) return { ok: false, ...ended, usage: counted };
  if (error !== undefined || finish === undefined || finish === 'error') {
    return { ok: false, ...failureOf(sdk, error, hide), usage: text === '' ? NO_TOKENS : counted };
  }
  if (text.trim() === '') return { ok: false, failure: 'no-text', message: 'the answer has no text', usage: counted };
  return { ok: true, text: hide(text), isComplete: finish === 'stop', usage: counted };
}

const toSdk = ({ role, text, isStable }: Message): ModelMessage => ({
  role,
  content: text,
  ...(isStable && { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }),
});

const estimated = (messages: readonly Message[], text: string): TokenUsage => ({
  ...NO_TOKENS,
  input: estimateTokens(messages),
  output: estimateTokens([{ text }]),
  isEstimate: true,
});

type SdkUsage = {
  readonly inputTokens: number | undefined;
  readonly inputTokenDetails: {
    readonly cacheReadTokens: number | undefined;
    readonly cacheWriteTokens: number | undefined;
  };
  readonly outputTokens: number | undefined;
};

/** Undefined if the endpoint did not count. */
function usageOf({ inputTokens, inputTokenDetails, outputTokens }: SdkUsage): TokenUsage | undefined {
  if (!isCount(inputTokens) || !isCount(outputTokens)) return undefined;
  const { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite } = inputTokenDetails;
  return {
    input: inputTokens,
    cacheRead: isCount(cacheRead) ? cacheRead : 0,
    cacheWrite: isCount(cacheWrite) ? cacheWrite : 0,
    output: outputTokens,
    isEstimate: false,
  };
}

/** An endpoint may say anything. */
const isCount = (value: number | undefined): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const LONGEST_MESSAGE = 300;

function failureOf(
  { APICallError: Call }: Sdk,
  error: unknown,
  hide: Hide,
): { failure: Failure; message: string; retryAfterMs?: number } {
  const said = (error instanceof Error ? error.message : String(error ?? 'the answer broke off')) || 'no message';
  const message = hide(said).slice(0, LONGEST_MESSAGE);
  if (!Call.isInstance(error) || error.statusCode === undefined) return { failure: 'connection-lost', message };
  const { statusCode } = error;
  const told = `HTTP ${statusCode}: ${message}`;
  if (statusCode === 429) return { failure: 'rate-limited', message: told, ...waitOf(error) };
  if (statusCode >= 500 || statusCode === 408) return { failure: 'server-error', message: told, ...waitOf(error) };
  // A body that could not be read comes with the status of the head.
  return { failure: statusCode < 300 ? 'connection-lost' : 'refused-request', message: told };
}

function waitOf({ responseHeaders }: APICallError): { retryAfterMs?: number } {
  const seconds = Number(responseHeaders?.['retry-after']);
  return seconds >= 0 ? { retryAfterMs: seconds * 1000 } : {};
}
