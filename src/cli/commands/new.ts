import { newProblem } from '../../app/new-problem.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { newProblemDocument } from '../../reports/documents/new-problem.ts';
import { printing, type Run } from '../context.ts';

export const run: Run<RequestOf<'new'>> = printing(newProblem, newProblemDocument);
