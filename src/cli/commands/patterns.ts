import { patternRecords } from '../../app/patterns.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { patternsDocument } from '../../reports/documents/patterns.ts';
import { printing, type Run } from '../context.ts';

export const run: Run<RequestOf<'patterns'>> = printing(patternRecords, patternsDocument);
