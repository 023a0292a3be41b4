import { Hono } from 'hono';
import { z } from 'zod';
import { openKernel, openLesson } from '../../app/page/workshop.ts';
import type { WorkshopProcess } from '../../app/page/workshop-process.ts';
import { readBody } from './read-body.ts';

const draft = z.strictObject({
  target: z.string().min(1),
  files: z.record(z.string(), z.string()),
  parameters: z.record(z.string(), z.number()),
  workload: z.string(),
  device: z.string().min(1),
});

const draftOfLesson = draft.pick({ files: true }).extend({ lesson: z.string().min(1) });

const index = z.int().min(0);
const trace = z.strictObject({ draft, place: z.strictObject({ step: index, cta: index, warp: index }) });

/** Kernels that somebody is writing. Whoever stops waiting for an answer ends the work on it. */
export function playgroundRoutes(workshop: WorkshopProcess): Hono {
  const routes = new Hono();
  routes.get('/playground/kernel', async (context) =>
    context.json(await openKernel(context.req.query('target') ?? '')),
  );
  routes.get('/playground/lesson', async (context) => context.json(await openLesson(context.req.query('name') ?? '')));
  routes.post('/playground/check', async (context) =>
    context.json(await workshop.check(await readBody(context, draftOfLesson), context.req.raw.signal)),
  );
  routes.post('/playground/look', async (context) =>
    context.json(await workshop.look(await readBody(context, draft), context.req.raw.signal)),
  );
  routes.post('/playground/trace', async (context) => {
    const asked = await readBody(context, trace);
    return context.json(await workshop.trace(asked.draft, asked.place, context.req.raw.signal));
  });
  return routes;
}
