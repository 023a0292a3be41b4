import { Hono } from 'hono';
import { listLessons } from '../../app/course/list-lessons.ts';
import { devices } from '../../app/devices.ts';
import { patternRecords } from '../../app/patterns.ts';
import { bundledNames } from '../../app/target.ts';
import { DEVICE_SPECS } from '../../hardware/device-specs.ts';
import { patternsDocument } from '../../reports/documents/patterns.ts';
import { printHtml } from '../../reports/print/html.ts';

/** What there is beside runs: patterns with what they realised, devices, bundled kernels, lessons. */
export function lookingRoutes(store: string): Hono {
  const routes = new Hono();
  routes.get('/patterns', (context) =>
    context.html(printHtml(patternsDocument(patternRecords({ store, evidence: true })))),
  );
  routes.get('/devices', (context) => context.json({ ...devices(), specs: [...DEVICE_SPECS.values()] }));
  routes.get('/targets', (context) => context.json({ targets: bundledNames() }));
  routes.get('/lessons', async (context) => context.json(await listLessons()));
  return routes;
}
