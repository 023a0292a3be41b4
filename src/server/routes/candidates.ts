import { Hono } from 'hono';
import { candidatePage } from '../../app/page/candidate-page.ts';
import { storedRun } from '../../app/page/stored-run.ts';
import type { WorkshopProcess } from '../../app/page/workshop-process.ts';

/** Candidates of runs: what their lines cost, and their code. */
export function candidateRoutes(store: string, workshop: WorkshopProcess): Hono {
  const routes = new Hono();
  routes.get('/runs/:id/evaluations/:evaluation', (context) => {
    const { run } = storedRun(store, context.req.param('id'));
    return context.json(candidatePage(store, run.id, context.req.param('evaluation')));
  });
  routes.get('/runs/:id/evaluations/:evaluation/code', async (context) => {
    const { run } = storedRun(store, context.req.param('id'));
    const candidate = `${run.id}/${context.req.param('evaluation')}`;
    return context.json({ view: await workshop.code({ store, candidate }, context.req.raw.signal) });
  });
  return routes;
}
