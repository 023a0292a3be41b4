import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Turn } from '../app/author/turn.ts';
import { WarpsmithError } from '../core/errors.ts';
import { errorText } from '../reports/feedback.ts';

/** What is left of the connection's budget, in every answer. */
export const budgetSchema = z.object({
  evaluationsLeft: z.number(),
  minutesLeft: z.number().nullable(),
  turnIsOver: z.boolean(),
});

type Budget = z.infer<typeof budgetSchema>;

function budgetOf(turn: Turn): Budget {
  const { evaluations, minutes } = turn.allowance.left();
  return { evaluationsLeft: evaluations, minutesLeft: minutes, turnIsOver: turn.isOver };
}

function budgetText({ evaluationsLeft, minutesLeft, turnIsOver }: Budget): string {
  const minutes = minutesLeft === null ? '' : `, ${minutesLeft} minutes`;
  return `left: ${evaluationsLeft} evaluations${minutes}${turnIsOver ? '; your turn is over' : ''}`;
}

/** A tool's answer: data for programs, and the same in words. */
export interface Answer {
  readonly data: Record<string, unknown>;
  readonly text: string;
}

export function resultOf(turn: Turn, { data, text }: Answer): CallToolResult {
  const budget = budgetOf(turn);
  return {
    structuredContent: { ...data, budget },
    content: [{ type: 'text', text: `${text}\n${budgetText(budget)}` }],
  };
}

/** A mistake of the author, which it can correct. Anything else is a bug of ours, and told as one. */
export function errorOf(turn: Turn, error: unknown): CallToolResult {
  const text = error instanceof WarpsmithError ? errorText(error) : `[internal-error] ${String(error)}`;
  return { isError: true, content: [{ type: 'text', text: `${text}\n${budgetText(budgetOf(turn))}` }] };
}
