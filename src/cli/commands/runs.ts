import { listRuns } from '../../app/runs.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { runsDocument } from '../../reports/documents/runs.ts';
import { printing, type Run } from '../context.ts';

export const run: Run<RequestOf<'runs'>> = printing(listRuns, (listed) => runsDocument(listed, new Date()));
