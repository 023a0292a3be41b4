import { checkTarget } from '../../app/check.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { checkDocument } from '../../reports/documents/check.ts';
import { printing, type Run } from '../context.ts';

export const run: Run<RequestOf<'check'>> = printing(checkTarget, checkDocument);
