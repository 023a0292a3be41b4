import type { z } from 'zod';
import type { Turn } from '../app/author/turn.ts';
import type { Answer } from './answer.ts';

/** One tool of the server: the only place where it is described. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** Without the budget, which every answer has. */
  readonly output: Output;
  readonly readOnly: boolean;
  /** @throws WarpsmithError for a mistake of the author. */
  answer(turn: Turn, input: z.infer<Input>, signal: AbortSignal): Promise<Answer>;
}

export const tool = <Input extends z.ZodObject, Output extends z.ZodObject>(described: Tool<Input, Output>): Tool =>
  described as unknown as Tool;
