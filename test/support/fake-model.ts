import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a fake endpoint does with one request. */
export interface Reply {
  readonly text?: string;
  /** Instead of an answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The model ran out of tokens. */
  readonly isCut?: boolean;
  /** After the text nothing comes any more, or the connection breaks. */
  readonly afterwards?: 'silence' | 'drop';
  /** Tokens that the endpoint says; false: it says none. */
  readonly usage?: { readonly input: number; readonly cached?: number; readonly output: number } | false;
}

/** What was sent, as far as tests ask. */
export interface Sent {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
}

export interface FakeModel extends AsyncDisposable {
  readonly url: string;
  readonly sent: readonly Sent[];
}

type Script = readonly Reply[] | ((sent: Sent, index: number) => Reply);

/** A model on loopback that speaks Anthropic's protocol and the OpenAI-compatible one, and answers by a script. The last answer repeats. */
export async function fakeModel(script: Script): Promise<FakeModel> {
  const sent: Sent[] = [];
  const replyTo = (one: Sent): Reply =>
    typeof script === 'function' ? script(one, sent.length - 1) : script[Math.min(sent.length, script.length) - 1]!;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = {
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || '{}'),
    };
    sent.push(one);
    answer(replyTo(one), one.path, response);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function answer(reply: Reply, path: string, response: ServerResponse): void {
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.body ?? JSON.stringify({ error: { type: 'error', message: `status ${reply.status}` } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = path.endsWith('/messages') ? anthropicEvents(reply) : openAiEvents(reply);
  const kept =
    reply.afterwards === undefined ? events : events.slice(0, events.findLastIndex(({ isText }) => isText) + 1);
  for (const { data, name } of kept) response.write(`${name ? `event: ${name}\n` : ''}data: ${data}\n\n`);
  if (reply.afterwards === 'drop') setTimeout(() => response.destroy(), 20);
  else if (reply.afterwards === undefined) response.end();
}

interface Part {
  readonly name?: string;
  readonly data: string;
  readonly isText?: boolean;
}

const pieces = (text: string): string[] => text.match(/[\s\S]{1,2000}/g) ?? [];
const tokens = ({ usage, text = '' }: Reply) =>
  usage === false ? undefined : { input: 1000, cached: 0, output: Math.ceil(text.length / 4), ...usage };

function openAiEvents(reply: Reply): Part[] {
  const head = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'fake' };
  const chunk = (content: string | undefined, finish_reason: string | null): Part => ({
    data: JSON.stringify({
      ...head,
      choices: [{ index: 0, delta: content === undefined ? {} : { role: 'assistant', content }, finish_reason }],
    }),
    isText: content !== undefined,
  });
  const used = tokens(reply);
  const usage = used && {
    prompt_tokens: used.input,
    completion_tokens: used.output,
    total_tokens: used.input + used.output,
    prompt_tokens_details: { cached_tokens: used.cached },
  };
  return [
    ...pieces(reply.text ?? '').map((text) => chunk(text, null)),
    chunk(undefined, reply.isCut ? 'length' : 'stop'),
    ...(usage ? [{ data: JSON.stringify({ ...head, choices: [], usage }) }] : []),
    { data: '[DONE]' },
  ];
}

function anthropicEvents(reply: Reply): Part[] {
  const used = tokens(reply) ?? { input: 0, cached: 0, output: 0 };
  const part = (name: string, rest: object, isText?: boolean): Part => ({
    name,
    data: JSON.stringify({ type: name, ...rest }),
    ...(isText && { isText }),
  });
  const usage = {
    input_tokens: used.input - used.cached,
    cache_read_input_tokens: used.cached,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  return [
    part('message_start', {
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'fake',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    }),
    part('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...pieces(reply.text ?? '').map((text) =>
      part('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }, true),
    ),
    part('content_block_stop', { index: 0 }),
    part('message_delta', {
      delta: { stop_reason: reply.isCut ? 'max_tokens' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: used.output },
    }),
    part('message_stop', {}),
  ];
}
