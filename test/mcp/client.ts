import { fileURLToPath } from 'node:url';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export const COMMAND = [process.execPath, fileURLToPath(new URL('../../bin/warpsmith.mjs', import.meta.url)), 'mcp'];

/** The environment that a client gives the server it starts: nothing may depend on more. */
export const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  WARPSMITH_TRUST: 'all',
  WARPSMITH_THREADS: process.env.WARPSMITH_THREADS ?? '',
  WARPSMITH_CACHE: process.env.WARPSMITH_CACHE ?? '',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
  WARPSMITH_BUILD: process.env.WARPSMITH_BUILD ?? '',
};

export interface Answer {
  readonly isError: boolean;
  readonly text: string;
  readonly data: Record<string, unknown>;
}

/** A real client over the real server's stdin and stdout. */
export interface Connection extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
  call(name: string, input?: Record<string, unknown>): Promise<Answer>;
  /** Submits, and waits for the verdict. */
  judge(input: Record<string, unknown>): Promise<Answer & { readonly id: string }>;
}

export async function connect(
  words: readonly string[],
  { cwd, options }: { cwd?: string; options?: ClientOptions } = {},
): Promise<Connection> {
  const [command, ...args] = [...COMMAND, ...words];
  const transport = new StdioClientTransport({ command: command!, args, env: ENVIRONMENT, stderr: 'ignore', cwd });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' }, ...options });
  await client.connect(transport);
  return { ...callsOf(client), pid: transport.pid! };
}

/** What tests ask of a server, through a client that is connected. */
export function callsOf(client: Client): Omit<Connection, 'pid'> {
  async function call(name: string, input: Record<string, unknown> = {}): Promise<Answer> {
    const result = await client.callTool({ name, arguments: input });
    const [first] = result.content;
    const text = first?.type === 'text' ? first.text : '';
    return { isError: result.isError === true, text, data: (result.structuredContent ?? {}) as Answer['data'] };
  }
  /** Waits again where a wait ends before the verdict is there, as on a busy machine. */
  async function verdict(id: string): Promise<Answer> {
    let answer = await call('wait', { id });
    while (!answer.isError && answer.data.state !== 'judged') answer = await call('wait', { id });
    return answer;
  }
  return {
    client,
    call,
    async judge(input) {
      const submitted = await call('submit', input);
      if (submitted.isError) throw new Error(submitted.text);
      const id = String(submitted.data.id);
      return { ...(await verdict(id)), id };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
