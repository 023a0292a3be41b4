import { type SlurmReport, slurm } from '../../app/slurm.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { type Document, documentOf, names, table, words } from '../../reports/document.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

const slurmDocument = ({ workers }: SlurmReport): Document =>
  documentOf('Workers of Slurm', [
    table('Workers', workers, [
      names('task', ({ task }) => task),
      names('state', ({ state }) => state),
      words('node', ({ node }) => node),
      names('elapsed', ({ elapsed }) => elapsed),
    ]),
  ]);

const DONE = { up: 'Started', down: 'Ended' } as const;

export const run: Run<RequestOf<'slurm'>> = async (request, context) => {
  const { signal, streams } = context;
  const report = await slurm(request, { environment: process.env, signal });
  const { action, jobs } = report;
  if (action !== 'status' && jobs.length > 0) streams.err.write(`${DONE[action]}: ${jobs.join(', ')}\n`);
  printResult(context, report, slurmDocument);
  return EXIT.ok;
};
