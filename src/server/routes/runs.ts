import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { z } from 'zod';
import type { RunProcesses } from '../../app/page/run-processes.ts';
import { storedRun } from '../../app/page/stored-run.ts';
import { watchRun } from '../../app/page/watch-run.ts';
import { compareReports, readReport } from '../../app/report.ts';
import { listRuns } from '../../app/runs.ts';
import { runDocument } from '../../reports/documents/run.ts';
import { runComparisonDocument } from '../../reports/documents/run-comparison.ts';
import { printHtml } from '../../reports/print/html.ts';
import { readBody } from './read-body.ts';

const startBody = z.strictObject({
  target: z.string().min(1),
  device: z.string().min(1).optional(),
  workload: z.string().min(1).optional(),
  maximumEvaluations: z.int().min(1).max(1_000_000).optional(),
});

/** Lists, follows, starts and stops runs. @param ending fires when the server ends, which ends what it streams. */
export function runRoutes(store: string, processes: RunProcesses, ending: AbortSignal): Hono {
  const routes = new Hono();
  const idOf = (asked: string): string => storedRun(store, asked).run.id;
  routes.get('/runs', (context) => context.json(listRuns({ store })));
  routes.post('/runs', async (context) => {
    const { workload, ...request } = await readBody(context, startBody);
    const id = await processes.start({ ...request, workloads: workload === undefined ? undefined : [workload] });
    return context.json({ id });
  });
  routes.get('/runs/:id', (context) => context.json(storedRun(store, context.req.param('id'))));
  routes.get('/runs/:id/live', (context) => {
    const run = idOf(context.req.param('id'));
    return streamSSE(context, async (stream) => {
      const gone = new AbortController();
      stream.onAbort(() => gone.abort());
      for await (const change of watchRun(store, run, AbortSignal.any([gone.signal, ending])))
        await stream.writeSSE({ data: JSON.stringify(change) });
    });
  });
  routes.post('/runs/:id/resume', async (context) => {
    await processes.resume(idOf(context.req.param('id')));
    return context.json({});
  });
  routes.post('/runs/:id/stop', (context) => {
    processes.stop(idOf(context.req.param('id')));
    return context.json({});
  });
  routes.get('/runs/:id/report', (context) =>
    context.html(printHtml(runDocument(readReport(store, idOf(context.req.param('id')))))),
  );
  routes.get('/runs/:id/against/:other', (context) => {
    const [run, other] = (['id', 'other'] as const).map((name) => idOf(context.req.param(name)));
    return context.html(printHtml(runComparisonDocument(compareReports(store, run!, other!))));
  });
  return routes;
}
