/** Requests to the server that gave this page. Each carries the token, which came in the address and stays in this tab. */

const KEY = 'warpsmith-token';

/** Takes the token out of the address, where others might see it, and keeps it until the tab is closed. */
export function takeToken(): void {
  const given = /(?:^#|&)token=([\w-]+)/.exec(location.hash)?.[1];
  if (given === undefined) return;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', `${location.pathname}#/`);
}

/** What the server said that went wrong. */
export class ServerError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

interface Ask {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

async function ask(path: string, { method = 'GET', body, signal }: Ask): Promise<Response> {
  const response = await fetch(`/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ''}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  if (response.ok) return response;
  if (response.status === 401)
    throw new ServerError('no-token', 'This tab has no token.', 'Open the address that `warpsmith ui` printed.');
  const told = (await response.json().catch(() => ({}))) as {
    error?: { code?: string; message?: string; hint?: string };
  };
  const { code = 'failed', message = response.statusText, hint } = told.error ?? {};
  throw new ServerError(code, message, hint);
}

export const getJson = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  (await (await ask(path, signal ? { signal } : {})).json()) as T;

export const getText = async (path: string, signal?: AbortSignal): Promise<string> =>
  (await ask(path, signal ? { signal } : {})).text();

export const postJson = async <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  (await (await ask(path, { method: 'POST', body, ...(signal && { signal }) })).json()) as T;

/** Server-sent events. Not through EventSource, which can't carry a token. Ends when the server does. */
export async function* stream<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const { body } = await ask(path, { signal });
  let text = '';
  for await (const chunk of chunksOf(body!.pipeThrough(new TextDecoderStream()))) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event.startsWith('data: ')) yield JSON.parse(event.slice(6)) as T;
    }
  }
}

async function* chunksOf(readable: ReadableStream<string>): AsyncGenerator<string> {
  const reader = readable.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
