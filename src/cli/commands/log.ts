import { readLog } from '../../app/log.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { logDocument } from '../../reports/documents/log.ts';
import { printing, type Run } from '../context.ts';

export const run: Run<RequestOf<'log'>> = printing(readLog, logDocument);
