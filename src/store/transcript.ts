import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { WarpsmithError } from '../core/errors.ts';
import { jsonOf } from '../core/json/parse-json.ts';
import { EVENT_SCHEMAS, type Priors } from './events.ts';
import { readRegularFile } from './read-regular-file.ts';
import { withStorageErrors } from './storage-error.ts';

/*
 * What a run asked a language model, and what came: a JSON line for each request. Of agent processes, what they handed in, and how
 * their steps began and ended. Where there are several authors, who was chosen. The loop runs again from it without a model or an agent.
 */

export const TRANSCRIPT_VERSION = 1;

const count = z.number().int().nonnegative();
const usage = z.object({
  input: count,
  cacheRead: count,
  cacheWrite: count,
  output: count,
  isEstimate: z.boolean(),
});

const header = z.object({
  schemaVersion: z.literal(TRANSCRIPT_VERSION),
  /** e.g. `anthropic:NAME`; empty where only agent processes wrote. */
  model: z.string(),
  problem: z.string(),
  device: z.string(),
  /** The run's, from which those of all inputs follow. */
  seed: count,
  /** What the run knew of earlier ones. */
  priors: z.looseObject({}) as unknown as z.ZodType<Priors>,
});
export type TranscriptHeader = z.infer<typeof header>;

const exchange = z.object({
  request: count,
  /** So many of the first messages are those of the request before. */
  repeated: count,
  /** The others. */
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), text: z.string() })),
  maximumOutputTokens: count,
  answer: z.discriminatedUnion('ok', [
    z.object({ ok: z.literal(true), text: z.string(), isComplete: z.boolean(), usage }),
    z.object({
      ok: z.literal(false),
      failure: z.string(),
      message: z.string(),
      retryAfterMs: z.number().nonnegative().optional(),
      usage,
    }),
  ]),
});

/** One request and its answer. */
export type Exchange = z.infer<typeof exchange>;

const agentLine = z.discriminatedUnion('agent', [
  z.object({ agent: z.literal('began'), event: EVENT_SCHEMAS['author-step-began'].omit({ iteration: true }) }),
  z.object({
    agent: z.literal('submitted'),
    request: count,
    author: z.string(),
    /** Of the candidate that it was made from. */
    parent: z.string().nullable(),
    hypothesis: z.string(),
    predictedRatio: z.number().nullable(),
    files: z.record(z.string(), z.string()),
    parameters: z.record(z.string(), z.number()),
    seconds: z.number(),
    /** What compiling it showed. */
    refused: z.object({ code: z.string(), reason: z.string() }).optional(),
  }),
  z.object({
    agent: z.literal('ended'),
    event: EVENT_SCHEMAS['author-step-ended'].omit({ iteration: true }),
    /** What the next step is given. Nothing that it says is evidence. */
    notes: z.string(),
  }),
]);

/** What an agent process did. */
export type AgentLine = z.infer<typeof agentLine>;

const choiceLine = z.object({ choice: EVENT_SCHEMAS['arm-chosen'].omit({ iteration: true }) });

/** Which of several was asked next: it rests on wall times, which are never the same again. */
export type ArmChoice = z.infer<typeof choiceLine>['choice'];

export interface Transcript {
  readonly header: TranscriptHeader;
  readonly exchanges: readonly Exchange[];
  readonly agents: readonly AgentLine[];
  readonly choices: readonly ArmChoice[];
}

/** One line of a transcript. */
export type TranscriptLine = Exchange | AgentLine | z.infer<typeof choiceLine>;

/** Begins a transcript. @throws WarpsmithError if the store can't be written. */
export const beginTranscript = (path: string, head: TranscriptHeader): void => append(path, head);

/** Adds what a request was answered, at once: it has been paid for. */
export const addToTranscript = (path: string, one: TranscriptLine): void => append(path, one);

function append(path: string, value: object): void {
  withStorageErrors(path, () => appendFileSync(path, `${JSON.stringify(value)}\n`, { flush: true }));
}

/**
 * Reads a transcript. A last line that a killed process left incomplete is ignored.
 *
 * @throws WarpsmithError `no-transcript`, `damaged-transcript`.
 */
export function readTranscript(path: string): Transcript {
  const lines = textOf(path).split('\n');
  // What follows the last line feed is incomplete.
  const [first, ...rest] = lines.slice(0, -1);
  const parse = <T>(schema: z.ZodType<T>, text: string, line: number): T => {
    const parsed = schema.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw damaged(path, line, issue ? `${issue.path.join('.') || 'line'}: ${issue.message}` : 'no JSON');
  };
  if (first === undefined) throw damaged(path, 1, 'it is empty');
  const read: Transcript & { exchanges: Exchange[]; agents: AgentLine[]; choices: ArmChoice[] } = {
    header: parse(header, first, 1),
    exchanges: [],
    agents: [],
    choices: [],
  };
  for (const [index, text] of rest.entries()) {
    const has = (name: string): boolean => Object.hasOwn((jsonOf(text) as object | undefined) ?? {}, name);
    if (has('agent')) read.agents.push(parse(agentLine, text, index + 2));
    else if (has('choice')) read.choices.push(parse(choiceLine, text, index + 2).choice);
    else read.exchanges.push(parse(exchange, text, index + 2));
  }
  return read;
}

function textOf(path: string): string {
  try {
    return readRegularFile(path).toString('utf8');
  } catch (error) {
    throw new WarpsmithError({
      code: 'no-transcript',
      message: 'The transcript can’t be read.',
      file: path,
      received: (error as NodeJS.ErrnoException).code ?? 'an error',
      expected: 'transcript.jsonl of a run that a model wrote kernels for',
      hint: 'It lies in the folder of the run.',
    });
  }
}

const damaged = (path: string, line: number, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'damaged-transcript',
    message: 'The transcript is damaged, or of another version.',
    file: path,
    path: `line ${line}`,
    received,
    expected: `a transcript of version ${TRANSCRIPT_VERSION}`,
    hint: 'Restore it, or run with a model.',
  });
