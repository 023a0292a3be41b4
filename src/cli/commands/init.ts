import { initAgent } from '../../app/init-agent.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import * as doc from '../../reports/document.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'init'>> = async (request, context) => {
  const written = await initAgent(request);
  printResult(context, { schemaVersion: 1, kind: 'init', ...written }, ({ folder, files }) =>
    doc.documentOf(`An agent can begin in ${folder}.`, [doc.list([...files])]),
  );
  return EXIT.ok;
};
